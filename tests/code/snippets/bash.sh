#### count words of a text
printf 'the cat and the dog and the end\n' > text.txt
tr ' ' '\n' < text.txt | sort | uniq -c | sort -k1,1nr -k2 | awk '{print $2, $1}' | head -2
#### a CSV with cut, sort and awk
printf 'region,amount\nEU,5\nUS,7\nEU,2\n' > sales.csv
tail -n +2 sales.csv | awk -F, '{sum[$1] += $2} END {for (r in sum) print r, sum[r]}' | sort
cut -d, -f1 sales.csv | sed 1d | sort -u | paste -sd' '
#### loops, arithmetic and functions
fact() { local n=$1; ((n < 2)) && echo 1 || echo $((n * $(fact $((n - 1))))); }
for ((i = 1; i <= 5; i++)); do printf '%d ' "$(fact $i)"; done; echo
i=0; while ((i < 3)); do ((i += 1)); [[ $i == 2 ]] && continue; echo "round $i"; done
until [ $i -eq 0 ]; do i=$((i - 1)); done; echo $i
#### arrays and maps
names=(ann bob "c d"); names+=(eve)
echo "${#names[@]} ${names[2]} ${names[@]:1:2}"
declare -A age=([ann]=31 [bob]=42); age[eve]=7
for name in $(printf '%s\n' "${!age[@]}" | sort); do echo "$name=${age[$name]}"; done
#### parameter expansion
path=/data/in/report.final.csv
echo "${path##*/} ${path%.*} ${path%/*} ${path/in/out} ${#path} ${path:6:2}"
word=hello; echo "${word^} ${word^^} ${unset:-fallback} ${word:+set}"
#### here documents and strings
name=World
cat <<END
Hello $name, $((1 + 1))
END
cat <<'END'
literal $name `id`
END
tr a-z A-Z <<< "shout"
#### heredoc to a file, read line by line
cat > list.txt <<END
b 2
a 1
END
while read -r key value; do echo "$value-$key"; done < list.txt
#### case and patterns
for f in a.txt b.tar.gz c; do case $f in *.txt) echo text ;; *.tar.*|*.zip) echo archive ;; *) echo other ;; esac; done
[[ "v1.22.3" =~ ^v([0-9]+)\.([0-9]+) ]] && echo "${BASH_REMATCH[1]} ${BASH_REMATCH[2]}"
#### pipefail and exit codes
set -o pipefail
false | true; echo $?
set +o pipefail
false | true; echo $?
(exit 3); echo $?
grep -q nothing <<< something || echo "no match: $?"
#### traps and cleanup
trap 'echo cleaned' EXIT
f=$(mktemp); echo x > "$f"; wc -c < "$f"; rm "$f"
#### find and xargs
mkdir -p d/e; touch d/a.log d/e/b.log d/e/c.txt
find d -name '*.log' | sort | xargs -n1 basename
find d -type f -exec sh -c 'echo "${1%.*}"' _ {} \; | sort
find d -type f -print0 | xargs -0 ls -1 | wc -l
#### sed edits a file
printf 'host=localhost\nport=80\n' > app.conf
sed -i -e 's/^port=.*/port=8080/' -e '/^host/s/localhost/example.com/' app.conf
cat app.conf; sed -n '$p' app.conf | cut -d= -f2
#### jq: filter, map and build
printf '{"users":[{"name":"Ann","age":31,"tags":["a","b"]},{"name":"Bob","age":17,"tags":[]}]}' > users.json
jq -r '.users[] | select(.age > 18) | .name' users.json
jq -c '[.users[] | {name, n: (.tags | length)}]' users.json
jq -r '.users | map(.age) | add / length' users.json
jq -r '.users[] | [.name, .age] | @csv' users.json
#### jq: group, arguments and raw input
printf '{"k":"x","v":1}\n{"k":"y","v":2}\n{"k":"x","v":3}\n' | jq -cs 'group_by(.k) | map({(.[0].k): map(.v) | add}) | add'
jq -n --arg name 'A "B"' --argjson n 3 '{name: $name, n: $n}' -c
printf 'one\ntwo\n' | jq -Rc '[., length]'
#### git: commits, branches and a merge
git init -q -b main repo && cd repo
git config user.name t; git config user.email t@t
echo one > a; git add a; git commit -qm first
git switch -qc topic; echo two > b; git add b; git commit -qm second
git switch -q main; echo more >> a; git commit -qam third; git merge -q --no-edit topic
git log --format=%s --no-merges | sort; git ls-files; git rev-list --count HEAD
#### git: diff and blame of a change
git init -q -b main r && cd r
git config user.name t; git config user.email t@t
printf 'a\nb\n' > f; git add f; git commit -qm one; printf 'a\nc\n' > f
git diff --stat | tail -1; git diff | grep '^[-+][a-z]'; git stash -q; cat f; git stash pop -q; tail -1 f
#### background jobs and wait
(sleep 0.05; echo slow > s.txt) & first=$!
(exit 7) & second=$!
wait $first; echo "first $?"; wait $second; echo "second $?"; cat s.txt
#### subshells, groups and redirections
x=1; (x=2; echo in $x); echo out $x
{ echo to-out; echo to-err >&2; } 2> err.txt; cat err.txt
ls nowhere 2>/dev/null || echo missing
echo both > all.txt 2>&1; echo more >> all.txt; wc -l < all.txt
#### dates and numbers
date -u -d '2024-02-28 + 2 days' +%F
date -u -d @86400 +%Y-%m-%dT%H:%M:%SZ
printf '%05.2f|%-5s|%5s|%x\n' 3.14159 ab cd 255
seq 2 3 11 | paste -sd+ ; echo $((16#ff)) $((2 ** 10)) $((7 % 3))
#### archives and checksums
mkdir data; echo hello > data/x; tar czf data.tgz data; rm -r data; tar xzf data.tgz; cat data/x
printf hello | sha256sum | cut -c1-16; printf hello | md5sum | cut -d' ' -f1; printf hello | base64; gzip -c data/x | gunzip
#### join, comm and diff of files
printf '1 a\n2 b\n3 c\n' > l; printf '1 x\n3 z\n' > r
join l r; cut -d' ' -f1 l > l1; cut -d' ' -f1 r > r1; comm -23 l1 r1; diff l1 r1; echo $?
#### read options and getopts
parse() { local OPTIND o v=0 n=; while getopts 'vn:' o; do case $o in v) v=1 ;; n) n=$OPTARG ;; *) return 2 ;; esac; done; shift $((OPTIND - 1)); echo "$v $n $*"; }
parse -v -n 5 rest of; parse only
IFS=: read -r a b c <<< 'x:y:z w'; echo "$c $b $a"
#### mapfile, printf and sorting numbers
printf '10\n9\n100\n' > n.txt; mapfile -t lines < n.txt; echo "${lines[1]} of ${#lines[@]}"; printf '10\n9\n100\n' | sort -n | tail -1
printf '%s\n' 1.10 1.9 1.2 | sort -V | paste -sd' '
printf 'k%d=v%d\n' 1 1 2 2
#### jq: join two documents and make a CSV
printf '%s' '[{"id":1,"name":"Ann"},{"id":2,"name":"Bob"}]' > users.json
printf '%s\n' '{"user":1,"total":9.5}' '{"user":2,"total":3}' '{"user":1,"total":0.5}' > orders.jsonl
jq -rs --slurpfile u users.json 'group_by(.user)[] | {id: .[0].user, sum: map(.total) | add} | [(.id as $i | $u[0][] | select(.id == $i).name), .sum] | @csv' orders.jsonl
jq -r 'to_entries[] | "\(.key)=\(.value|tostring)"' <<< '{"a":1,"b":[true,null],"c":{"d":"x"}}'
curl_like='{"items":[{"tags":["x","y"]},{"tags":[]},{"tags":["x"]}]}'; jq -c '[.items[].tags[]] | unique, length' <<< "$curl_like"
jq -n --arg v '3' '[$v, ($v|tonumber) + 1, now > 0, ("2024-02-29T00:00:00Z"|fromdate), ("a,b"|split(","))]' | tr -d ' \n'; echo
jq . <<< '{bad' 2> /dev/null; echo "status $?"
#### a log report with awk, sort and uniq in one pipe
cat > access.log <<'END'
10.0.0.1 GET /a 200 512
10.0.0.2 GET /b 404 0
10.0.0.1 POST /a 500 17
10.0.0.3 GET /a 200 1024
END
awk '{n[$1]++; b[$1]+=$5} END {for (ip in n) printf "%s\t%d\t%d\n", ip, n[ip], b[ip]}' access.log | sort -k3,3nr
cut -d' ' -f3 access.log | sort | uniq -c | sort -rn | sed 's/^ *//'
grep -c ' 200 ' access.log; awk '$4 >= 400 {print $4 ": " $2 " " $3}' access.log | tee errors.txt | wc -l; head -1 errors.txt
awk -F'[ .]' '{s += $NF} END {print s, NR, s / NR}' access.log; tail -n +3 access.log | rev | cut -c1-3 | rev | paste -sd,
#### python and bash together, with exit codes and a temporary directory
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
python3 - "$dir" <<'END'
import json, subprocess, sys
out = subprocess.run(["sort", "-r"], input="b\na\nc\n", capture_output=True, text=True, check=True).stdout.split()
json.dump(out, open(sys.argv[1] + "/o.json", "w"))
print(subprocess.run("exit 3", shell=True).returncode, subprocess.check_output(["printf", "%03d", "7"]).decode())
END
cat "$dir/o.json"; echo; python3 -c 'import sys; sys.exit(4)' || echo "was $?"
seq 1 5 | python3 -c 'import sys; print(sum(map(int, sys.stdin)))' | xargs printf 'sum=%s\n'
#### string work: printf, case, substitution, IFS and nameref
s='Hello, World'; echo "${s^^} ${s,,} ${#s} ${s:7:5} ${s//o/0} ${s%%,*} ${s##* }"
IFS=',' read -ra parts <<< 'a, b ,c'; printf '[%s]' "${parts[@]}"; echo
declare -n ref=s; ref='changed'; echo "$s"; printf -v padded '%-8s|%5.2f|%x' ab 3.14159 255; echo "$padded"
for f in report.tar.gz notes.txt none; do case $f in *.tar.gz) echo tarball ;; *.*) echo "${f##*.}" ;; *) echo plain ;; esac; done
echo {a..e} {01..03} {x,y}{1,2}; echo $((2 ** 10 % 7)) $((16#ff)) $((5 > 3 ? 1 : 0)); [[ 'v1.22' =~ ^v([0-9]+)\.([0-9]+)$ ]] && echo "${BASH_REMATCH[@]:1}"
set -- one 'two words' three; echo "$# ${*: -1} ${@:2:1}"; shift; echo "$1"; unset nothing; echo "${nothing:-default} ${nothing+set}"
#### process substitution free compare, sorting, uniq counts, tee, nl
printf '%s\n' pear apple pear fig apple pear > f.txt
sort f.txt | uniq -c | sort -k1,1nr -k2 | awk '{print $2 "=" $1}' | tee top.txt
nl -ba top.txt | sed 's/^ *//' ; tac top.txt | head -1; paste -sd, top.txt; wc -l < top.txt
comm -12 <(sort -u f.txt) <(printf 'apple\nkiwi\n')
#### redirection to stderr and /dev/null, exec, file descriptors, noclobber
exec 3> log.txt; echo one >&3; echo two >&3; exec 3>&-
cat log.txt; ls nope 2>/dev/null || echo "status $?"; { echo out; echo err >&2; } 2>&1 | sort
set -o noclobber; echo x > log.txt 2>/dev/null || echo kept; echo y >| log.txt; cat log.txt
echo to-stderr > /dev/stderr; cat /dev/null | wc -c; read -r a b < <(echo 1 2); echo "$a-$b"
#### xargs in parallel, seq, printf formats, bc-free arithmetic, rev, fold, tr
seq 1 5 | xargs -n1 -P2 -I{} sh -c 'echo $(( {} * {} ))' | sort -n | paste -sd+ ; printf '%05.2f|%-5s|%x|%q\n' 3.14159 ab 255 "a b"
echo hello | rev | tr a-z A-Z; echo abcdefghij | fold -w3; echo $(( 2**10 % 7 )) $(( 0x1f )) $(( 010 )); for i in {a..c}{1..2}; do printf '%s ' $i; done; echo
#### script with functions, local variables, getopts, usage and exit status
cat > s.sh <<'X'
#!/usr/bin/env bash
set -euo pipefail
usage() { echo "usage: $0 [-n N] NAME" >&2; exit 2; }
n=1; while getopts ":n:h" o; do case $o in n) n=$OPTARG;; *) usage;; esac; done; shift $((OPTIND-1))
[[ $# -ge 1 ]] || usage
for ((i=0;i<n;i++)); do printf 'hi %s\n' "$1"; done
X
bash s.sh -n 2 bob; bash s.sh 2>/dev/null; echo "status $?"; chmod +x s.sh; test -x s.sh && echo executable
#### find with actions, stat, du, touch -d, basename, dirname, realpath
mkdir -p p/q; touch -d 2024-01-01 p/old.txt; echo data > p/q/new.log; find p -type f -name '*.log' -printf '%f %s\n'; find p -type f -not -newermt 2024-06-01 | sort
stat -c '%n %s %a' p/q/new.log; basename /a/b/c.tar.gz .gz; dirname /a/b/c; realpath --relative-to=. p/q; find p -name '*.txt' -exec sh -c 'echo "got $1"' _ {} \; ; ls -1 p | wc -l; date -u -d @0 +%F; date -u -d '2024-02-28 +2 days' +%a
#### text tools: awk reports with arrays and printf, sed ranges, cut, column-free join
printf 'id,dept,pay\n1,eng,100\n2,ops,50\n3,eng,150\n' > e.csv
awk -F, 'NR>1{s[$2]+=$3;n[$2]++} END{for(d in s) printf "%s %d %.1f\n", d, s[d], s[d]/n[d]}' e.csv | sort; sed -n '2,3p;$!d' e.csv | head -2; sed -E 's/^([0-9]+),([a-z]+)/\2-\1/' e.csv | tail -1
cut -d, -f2 e.csv | tail -n +2 | sort -u | tr '\n' ' '; echo; grep -c eng e.csv; grep -nE '^[12]' e.csv; awk 'BEGIN{while(i++<3) printf i (i<3?",":"\n")}'; join -t, -1 1 -2 1 <(tail -n +2 e.csv) <(printf '1,a\n3,c\n')
#### trap on exit and errors, subshell status, wait for jobs, timeout
trap 'echo cleanup' EXIT; f() { return 3; }; f || echo "f: $?"; ( exit 4 ); echo $?; (sleep 0.05; echo bg) & pid=$!; wait $pid; echo "waited $?"; timeout 0.1 sleep 5; echo "timeout $?"; true | false | true; echo "${PIPESTATUS[@]}"; ! false && echo negated
#### git log, stash, tags and a rebase in a new repository
git init -q -b main r && cd r && git config user.email a@b.c && git config user.name A
echo 1 > f && git add f && git commit -qm one && git tag v1 && git checkout -qb topic && echo t > t && git add t && git commit -qm topic && git checkout -q main && echo 2 > f && git commit -qam two && git rebase -q main topic && git log --format=%s; git diff --stat v1 HEAD | tail -1; echo dirty >> f; git stash -q; git status --porcelain | wc -l; git stash pop -q; git status --porcelain; git show v1:f; git shortlog -sn HEAD | cat
#### jq: paths, reduce, recursion, dates and formatted strings
echo '{"a":[{"n":"x","v":1},{"n":"y","v":null}],"b":{"c":{"d":[3,4]}}}' > j.json
jq -c '[paths(type=="number")]' j.json; jq -r '.a[] | "\(.n)=\(.v // "none")"' j.json; jq '[.. | numbers] | add' j.json; jq -c 'reduce .a[] as $x ({}; .[$x.n]=$x.v)' j.json; jq -r '.a | (.[0]|keys_unsorted) as $k | $k, map([.[$k[]]])[] | @csv' j.json; jq -n '0 | todate' ; jq -c 'to_entries | map(.key)' j.json; jq -e '.zzz' j.json; echo $?
#### an executable script of one's own, started by its path, by env, xargs and find
cat > hello <<'X'
#!/bin/sh
echo "hello ${1:-nobody} from $(basename "$0")"
X
printf '#!/usr/bin/env python3\nimport sys\nprint("py", len(sys.argv), sys.argv[1:])\n' > tool.py
chmod +x hello tool.py
./hello ann; ./tool.py a "b c"; env ./hello env; echo x | xargs ./hello; find . -name hello -exec {} found \;; timeout 5 ./hello late
[ -x hello ] && [ ! -x missing ] && echo tested; printf 'echo no shebang $1\n' > plain; chmod 755 plain; ./plain yes
chmod -x hello; ./hello 2>/dev/null; echo "status $?"; PATH=$PWD:$PATH; chmod +x hello; hello path; command -v hello | sed "s|$PWD|.|"
#### process substitution: diff, while read, paste, tee and source
diff <(printf '1\n2\n') <(printf '1\n3\n'); echo "status $?"
while IFS=, read -r k v; do echo "$v:$k"; done < <(printf 'a,1\nb,2\n')
paste -d= <(seq 3) <(seq 4 6); cat <(echo one) - <(echo three) <<< two; mapfile -t lines < <(ls /usr/bin | head -2 | wc -l); echo "${#lines[@]}"
source <(echo 'greet() { echo "hi $1"; }'); greet bob; python3 - <(echo data) <<'X'
import sys
print(open(sys.argv[1]).read().strip())
X
{ seq 3 | tee >(wc -l >&3) > /dev/null; } 3>&1 | cat; awk 'NR==FNR{a[$1]=$2;next} {print $1, a[$1]}' <(printf 'x 1\ny 2\n') <(printf 'y\nx\n')
#### standard streams by name: /dev/stdin, /dev/stdout and /dev/stderr
echo piped | cat /dev/stdin; { printf 'to out\n' > /dev/stdout; } | cat; { echo hi | tee /dev/stderr | wc -c; } 2>&1 | sort; awk 'BEGIN { print "err" > "/dev/stderr"; print "out" }' 2>/dev/null | cat
printf '2\n1\n' | sort -o /dev/stdout /dev/stdin | cat; jq -n '{a: 1}' | jq -c --slurpfile x /dev/stdin -n '$x[0]'; python3 -c 'open("/dev/stdout", "w").write("py\n")' | cat; test -e /dev/stdin && echo exists
#### sqlite3 in a script: a file, CSV in and out, a report
printf 'id,name,pay\n1,ann,10.5\n2,bob,7\n' > staff.csv
sqlite3 staff.db <<'X'
.mode csv
.import staff.csv staff
CREATE INDEX i ON staff(name);
X
sqlite3 -header -column staff.db 'SELECT name, pay * 2 AS twice FROM staff ORDER BY id'; sqlite3 -json staff.db 'SELECT count(*) AS n FROM staff'; sqlite3 staff.db .dump | grep -c INSERT
sqlite3 staff.db 'PRAGMA journal_mode=WAL; BEGIN; UPDATE staff SET pay = 1; COMMIT; SELECT sum(pay) FROM staff'; python3 -c 'import sqlite3; print(sqlite3.connect("staff.db").execute("select name from staff").fetchall())'
#### node, python and perl one-liners in a pipe
node -e 'console.log(JSON.stringify({a: [1, 2, 3].map((x) => x * 2)}))' | python3 -c 'import json, sys; print(sum(json.load(sys.stdin)["a"]))'
perl -ne 'print scalar reverse' <<< abc | tr -d '\n'; echo; perl -e 'my %h = (b => 2, a => 1); print join(",", map { "$_=$h{$_}" } sort keys %h), "\n"'
python3 - <<'X'
from pathlib import Path
Path("made.txt").write_text("by python\n")
X
cat made.txt; node - <<'X'
require('fs').appendFileSync('made.txt', 'by node\n'); console.log(require('fs').readFileSync('made.txt', 'utf8').split('\n').length);
X
#### make-like steps: checks, arrays of files, sha256, here strings, printf -v, coproc-free queues
files=(a.txt b.txt); for f in "${files[@]}"; do printf '%s\n' "${f%.txt}" > "$f"; done; sha256sum "${files[@]}" | cut -c1-8; printf -v joined '%s,' "${files[@]}"; echo "${joined%,}"; declare -A seen; for w in x y x; do ((seen[$w]++)); done; for k in "${!seen[@]}"; do echo "$k ${seen[$k]}"; done | sort; mkfifo pipe 2>/dev/null && { (echo through > pipe &) ; cat pipe; } || echo through; [[ "v1.2.3" =~ ^v([0-9]+)\.([0-9]+) ]] && echo "${BASH_REMATCH[1]}.${BASH_REMATCH[2]}"; x=abcdef; echo "${x:1:3} ${x^^} ${x/cd/-} ${#x}"; base64 <<< hi; date -u -d '2024-03-01 -1 day' +%j; cmp -s a.txt b.txt || echo differ; split -l1 -d <(printf '1\n2\n') part-; ls part-*; xxd -p <<< AB 2>/dev/null || printf '41420a\n'; id -un | grep -c .
#### timeout, nice, install, dd and head of /dev/zero, sync
timeout 0.1 sleep 5; echo "timed out: $?"
timeout 5 echo in time; timeout -s KILL 0.1 sleep 5 2>/dev/null; echo "killed: $?"
nice -n 5 echo nice
dd if=/dev/zero of=zeros bs=1k count=3 2>/dev/null; stat -c %s zeros
head -c 4 /dev/zero | od -An -tx1; tr '\0' x < /dev/zero | head -c 5; echo
python3 -c 'print(open("/dev/zero", "rb").read(3), len(open("/dev/urandom", "rb").read(4)))'
install -m 755 zeros tool; stat -c %a tool; cp --preserve=all tool copy; stat -c %a copy; mv copy moved && ls moved
sync; sync zeros; echo "synced: $?"
grep -c '^ID=' /etc/os-release
#### a local server with python3 and a client, started and ended by the script
mkdir www; echo '{"ok": true}' > www/a.json
python3 -m http.server 8123 --bind 127.0.0.1 --directory www > server.log 2>&1 & server=$!
trap 'kill $server 2>/dev/null' EXIT
get() { python3 -c 'import sys, urllib.request as u; print(u.urlopen("http://127.0.0.1:8123/" + sys.argv[1]).read().decode().strip())' "$1" 2>/dev/null; }
until get a.json > /dev/null; do sleep 0.1; done
get a.json; get none || echo "not there"; grep -c '"GET /none' server.log
kill $server; wait $server; echo "status $?"
get a.json || echo "gone"
#### subprocesses of Python in a script: pipes, exit codes, environment, a pool and a time limit
python3 - <<'PY'
import subprocess, sys, os
from concurrent.futures import ThreadPoolExecutor
print(subprocess.run(["sort", "-n"], input="10\n9\n1\n", capture_output=True, text=True).stdout.split())
a = subprocess.Popen(["printf", "b\\na\\nb\\n"], stdout=subprocess.PIPE); b = subprocess.Popen(["sort", "-u"], stdin=a.stdout, stdout=subprocess.PIPE, text=True); a.stdout.close(); print(b.communicate()[0].split(), a.wait(), b.returncode)
print(subprocess.run("echo $NAME >&2; exit 4", shell=True, env={**os.environ, "NAME": "given"}, capture_output=True, text=True))
try: subprocess.run(["sleep", "5"], timeout=0.1)
except subprocess.TimeoutExpired: print("timed out")
with ThreadPoolExecutor(4) as pool: print(list(pool.map(lambda n: int(subprocess.check_output([sys.executable, "-c", f"print({n} ** 2)"])), range(4))))
pid = os.fork()
if pid == 0: os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PY
#### archives: zip by python, tar with stdin, split and joined parts, checksums that are compared
mkdir -p d/e; seq 1 2000 > d/n.txt; printf 'x\0y' > d/e/bin
tar cf - d | gzip -9 > d.tgz; tar tzf d.tgz | sort; split -b 1000 d.tgz part-; cat part-* | cmp - d.tgz && echo same
python3 -m zipfile -c d.zip d/ && python3 -m zipfile -l d.zip | awk '{print $1}' | sort | head -5
(cd d && find . -type f -exec sha256sum {} + | sort -k2) > sums; (cd d && sha256sum -c --quiet ../sums) && echo "sums fit"; echo changed >> d/n.txt; (cd d && sha256sum -c ../sums 2>/dev/null | grep FAILED)
mkdir out && tar xzf d.tgz -C out --strip-components=1 && wc -l < out/n.txt; od -c out/e/bin | head -1; gzip -cd d.tgz | tar xOf - d/n.txt | tail -1

#### pipefail report: exit status of pipes, PIPESTATUS, set -e in functions and subshells
set -euo pipefail
f() { false || echo "handled"; return 3; }
f || echo "status $?"
false | true && echo no || echo "pipe failed ${PIPESTATUS[*]}"
set +e; true | (exit 4) | true; echo "${PIPESTATUS[@]}"; set -e
(set -e; echo in; false; echo never) || echo "sub $?"
if ! grep -q zzz <<<"abc"; then echo "not found"; fi
x=$(exit 5) || echo "cmd subst $?"
trap 'echo "bye $?"' EXIT
trap 'echo "err line"' ERR
echo "${UNSET:-default}" "${UNSET-}" ; declare -i n=5+3; echo $n; (( n > 3 )) && echo bigger
ls /nonexistent 2>&1 | sed 's/.*: //' || true
command -v nosuch || echo "missing command"
[[ "file.tar.gz" == *.gz && "abc" =~ ^a(b)c$ ]] && echo "m ${BASH_REMATCH[1]}"
exit 0

#### arrays, associative arrays, nameref, mapfile, slices, sort, uniq of array
a=(one "two words" three); a+=(four); echo "${#a[@]} ${a[1]} ${a[@]:1:2} ${!a[@]} ${a[-1]}"; unset 'a[0]'; echo "${a[@]}"
declare -A m=([x]=1 [y]=2); m[z]=3; for k in $(printf '%s\n' "${!m[@]}" | sort); do echo "$k=${m[$k]}"; done; [[ -v m[x] ]] && echo has
mapfile -t lines < <(printf 'l%d\n' 3 1 2); IFS=$'\n' sorted=($(sort <<<"${lines[*]}")); unset IFS; echo "${sorted[@]}"
ref() { local -n r=$1; r+=(added); }; ref a; echo "${a[@]: -1}"; printf '%s,' "${a[@]/two/2}"; echo
read -r x y rest <<< "1 2 3 4"; echo "$rest"; IFS=: read -ra parts <<< "a:b:c"; echo "${#parts[@]} ${parts[2]}"
s="Hello World"; echo "${s,,} ${s^^} ${s#* } ${s%% *} ${s/o/0} ${s//o/0} ${#s} ${s:0:5} ${s: -3}"; printf -v p '%05.1f|%-5s|%x|%q' 3.14159 ab 255 "a b"; echo "$p"; echo {1..3}{a,b} {01..03} {a..e..2}

#### here-docs: quoted, indented, in functions, to files, with command substitution
name=World; cat <<END
Hello $name $(echo sub) \$x `echo tick`
END
cat <<'END' > q.txt
No $expansion `here`
END
cat q.txt; cat <<-END
	indented
	END
while IFS=, read -r a b; do echo "$b-$a"; done <<EOF2
1,x
2,y
EOF2
fn() { cat; }; fn <<< "here string"; sed 's/a/b/' <<X | tr b c
aaa
X
tee out1 out2 <<< "both" >/dev/null; cat out1 out2; exec 3<q.txt; read -u 3 l; echo "$l"; exec 3<&-; diff <(seq 3) <(seq 2 4) || echo differ

#### getopts long script with usage, shift, functions, arithmetic
usage() { echo "usage: $0 [-v] [-o out] file" | sed 's#.*/##' ; }
verbose=0 out=-; set -- -v -o res.txt in1 in2
while getopts ":vo:h" o; do case $o in v) verbose=1;; o) out=$OPTARG;; h) usage;; \?) echo "bad -$OPTARG";; esac; done; shift $((OPTIND - 1)); echo "$verbose $out $# $*"
OPTIND=1; set -- -x -o; while getopts ":o:" o; do case $o in :) echo "needs $OPTARG";; \?) echo "bad $OPTARG";; esac; done
for ((i = 0; i < 3; i++)); do ((i == 1)) && continue; printf '%d ' $i; done; echo; i=10; until ((i <= 7)); do ((i--)); done; echo $i $((2 ** 10)) $((7 / 2)) $((7 % 3)) $((0x1f)) $((i > 5 ? 1 : 0)) $(( (1 << 4) | 3 ))
fact() { local n=$1; ((n <= 1)) && { echo 1; return; }; echo $((n * $(fact $((n - 1))))); }; fact 10; select_() { echo "$FUNCNAME ${BASH_SOURCE##*/}" | wc -w; }; select_; echo "$LINENO" "${BASH_VERSINFO[0]}" | wc -w; type -t fact cd ls; hash -r; echo "$-" | grep -c h

#### find, xargs, stat, du, sort, awk over a project tree
mkdir -p p/{src,doc,build}; for i in 1 2 3; do printf 'line %s\nTODO fix %s\n' $i $i > p/src/f$i.py; done; echo x > "p/doc/with space.md"; touch -d '2020-01-01' p/build/old.o; ln -s ../src/f1.py p/build/link
find p -type f -name '*.py' -exec grep -Hn TODO {} + | sort; find p -name '* *' -print0 | xargs -0 -n1 basename; find p -type f -mtime +30 -delete; find p -type l -exec readlink {} \; ; find p -empty -type d; find p -type f -size -1k -o -type f -printf '%s %f\n' | sort
find p/src -name '*.py' | sort | xargs wc -l | awk '{print $1, $2}'; find p \( -name doc -prune \) -o -type f -print | sort; stat -c '%s %a %F' p/src/f1.py; du -a p | wc -l; find p/src -type f -exec sh -c 'for f; do echo "${f##*/}"; done' _ {} + | sort; find . -maxdepth 1 -newer p/src/f1.py -name nothing; ls -1 p | tr '\n' ' '; echo; ls p/src/*.py | head -2 | tail -1; chmod +x p/src/f1.py; find p -perm -u+x -type f

#### sed and awk programs: multi-line, in place, hold space, BEGIN/END, functions, printf, FS, arrays sorted
printf 'id,name,amt\n1,ann,10.5\n2,bob,3\n3,ann,7\n' > d.csv
awk -F, 'NR>1{s[$2]+=$3; n[$2]++} END{for(k in s) printf "%-5s %6.2f %d\n", k, s[k], n[k]}' d.csv | sort; awk -v OFS='|' -F, '{$1=$1; print NR, NF, $0}' d.csv; awk 'function max(a,b){return a>b?a:b} BEGIN{print max(3,7), length("abc"), substr("hello",2,3), toupper("x"), index("abc","c"), split("a:b:c",p,":"), p[3], sprintf("%03d",5)}'
sed -n '2,3p;$=' d.csv; sed -i.bak 's/ann/ANN/g; 1d' d.csv; cat d.csv d.csv.bak | wc -l; sed '/bob/{N;s/\n/ + /}' d.csv; sed -e '$!G' d.csv; sed -E 's/^([0-9]+),(\w+)/\2:\1/;t;d' d.csv; seq 5 | sed -n '1!G;h;$p' | tr '\n' ' '; echo; awk 'BEGIN{while(("echo a b"|getline l)>0) print l; "date -u -d @0 +%Y"|getline y; print y; printf "%s\n", "x" > "/dev/stderr"; system("echo sys")}' 2>/dev/null; paste -sd+ <(seq 4) | awk '{print $0}'; echo 'k=v;a=b' | awk 'BEGIN{RS=";";FS="="}{print $2,$1}'; awk '{a[NR]=$0} END{for(i=NR;i>0;i--) print a[i]}' d.csv; tac d.csv | nl -ba | cut -f2

#### jq: group, reduce, csv, args, slurp, null input, error, env, paths, sort, defs
echo '[{"n":"a","v":3,"t":["x"]},{"n":"b","v":1,"t":[]},{"n":"a","v":5,"t":["y","x"]}]' > d.json
jq -c 'group_by(.n)|map({n:.[0].n,s:map(.v)|add})' d.json; jq -r '.[]|[.n,.v]|@csv' d.json; jq '[.[].t[]]|unique|length' d.json; jq -n --arg a 1 --argjson b '{"x":2}' '{$a,b:$b.x}' -c; seq 3 | jq -s 'add/length'; seq 3 | jq -n '[inputs|.*2]' -c; jq 'map(select(.v>2))|length' d.json; jq -c 'paths(type=="number")' d.json | head -2; jq -e '.[0].zzz' d.json || echo "status $?"; echo '{bad' | jq . 2>&1 | head -c 20; echo; jq -r '.[]|"\(.n)=\(.v)"' d.json | sort -u; jq -c 'def f(x): x*10; map(f(.v))|sort|reverse|.[:2]' d.json; jq -c 'to_entries|map(.key)' d.json; jq -r '.[0]|keys[]' d.json; jq -c 'INDEX(.n)|map_values(.v)' d.json; echo '"2024-01-02T03:04:05Z"' | jq 'fromdate|todate'; jq -c '[.[]|.v]|{min:min,max:max,any:any(.>4)}' d.json; jq -c '.[0]|with_entries(select(.key!="t"))' d.json; jq --tab -S . <<< '{"b":1,"a":[2]}'; jq -r '.[]|@json' d.json | wc -l; jq -c 'limit(1;.[])|del(.t)|.v|=.+1|.new="q"' d.json; jq -R 'split(",")' -c <<< "a,b"; jq -c '. as [$x,$y]|$x.v+$y.v' d.json; jq '.[1].v as $v|$v|tostring|ascii_downcase|test("^1$")' d.json; jq -c 'try error("x") catch .' <<< null; jq -c '[.[]|if .v>2 then "hi" elif .v>0 then "lo" else "no" end]' d.json

#### git: init, commits, branch, merge conflict, log format, diff, blame, tag, stash, worktree, bisect, archive
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_AUTHOR_DATE='2024-01-01T00:00:00Z' GIT_COMMITTER_DATE='2024-01-01T00:00:00Z'
git init -q -b main r && cd r; echo one > f; git add f; git commit -qm first; git checkout -qb topic; echo topic >> f; git commit -qam topic; git checkout -q main; echo main >> f; git commit -qam main; git merge topic 2>&1 | tail -1; git status --short; grep -c '<<<<' f; printf 'one\nboth\n' > f; git add f; git commit -qm merged; git log --oneline --graph --format='%h %s' | cut -c1-4 | head -3; git log --format='%s|%an|%ad' --date=short; git rev-parse HEAD | cut -c1-8; git diff HEAD~1 --stat | tail -1; git tag -a v1 -m v1; git describe; echo wip >> f; git stash -q; git stash list | cut -d: -f1; git stash pop -q; git diff --numstat; git checkout -q -- f; git blame -s f | awk '{print $NF}'; git worktree add -q ../w topic; cat ../w/f; git archive HEAD | tar t; git show HEAD:f; git ls-files; git branch --format='%(refname:short)' ; git cherry-pick --abort 2>&1 | head -c 5; echo; git rev-list --count HEAD; git reset -q --hard HEAD~1; git reflog | wc -l; git clean -fdq; git clone -q . ../c && ls ../c; git gc -q 2>/dev/null; git fsck 2>&1 | grep -v dangling | head -3; git submodule status; git grep -n one; git shortlog -sn HEAD | cat; git format-patch -1 --stdout | head -1 | cut -c1-4; git bundle create -q ../b.bundle HEAD && git bundle verify -q ../b.bundle 2>/dev/null && echo ok

#### process substitution, coproc, co-operating background jobs, wait -n, kill, timeouts, named pipes
coproc UP { while read -r l; do echo "${l^^}"; done; }; echo hello >&"${UP[1]}"; read -r r <&"${UP[0]}"; echo "$r"; exec {UP[1]}>&-; wait
for i in 3 1 2; do (sleep $i; exit $i) & done; wait; echo all
sleep 10 & p=$!; kill $p; wait $p 2>/dev/null; echo "killed $?"; timeout 1 sleep 5; echo "timeout $?"; mkfifo q; (echo via > q) & cat q; wait; (trap 'echo term; exit 7' TERM; while :; do sleep 0.05; done) & p=$!; sleep 1; kill -TERM $p; wait $p; echo $?; exec 4> >(sed 's/^/log: /'); echo message >&4; exec 4>&-; sleep 1;  ulimit -n | grep -c '[0-9]'; time -p true 2>/dev/null; { time true; } 2>&1 | grep -c real; seq 4 | xargs -P2 -I{} sh -c 'echo {}' | sort; trap '' INT; trap - INT; trap -p | wc -l; printf 'a\0b\0' | while IFS= read -r -d '' x; do echo "[$x]"; done; read -t 0.5 v < <(sleep 3; echo z) || echo "read timed out"

#### everyday tools: date, bc, cut, tr, rev, fold, column, base64, sha, gzip, split, comm, shuf, xxd, tput, env, mktemp, tee, seq, factor, numfmt, expr
date -u -d '2024-02-29 +1 year' +%F; date -u -d @86400 '+%a %j %V'; TZ=Asia/Tokyo date -d @0 +%H; echo hello | rev | tr a-y b-z | fold -w2 | paste -sd-; echo -n hi | base64; echo -n hi | sha256sum | cut -c1-8; md5sum <<< x | cut -c1-6; seq 100 | gzip | gunzip | tail -1; seq 10 | split -l 4 - part.; ls part.* | wc -l; comm -12 <(seq 5) <(seq 3 7); shuf -i 1-5 --random-source=<(yes) | wc -l; mktemp -d | grep -c /tmp; factor 360; numfmt --to=iec 1048576; expr 3 \* 4; seq -s, 1 2 9; printf '%s\n' b a C | LC_ALL=C sort; echo $'a\tb' | expand -t4; echo a,b,c | cut -d, -f2-; od -An -tx1 <<< AB; printf 'x\ny\nx\n' | sort | uniq -c | sort -rn | awk '{print $1$2}'; head -c 5 /dev/urandom | wc -c; cmp <(echo a) <(echo b) | wc -l; yes | head -3 | wc -l; test -t 1 && echo tty || echo notty; echo ${HOME:+home} ${USER:-none} | wc -w; env -i A=1 env; nproc | grep -c .; printenv PATH | grep -c /usr/bin; id -u | grep -c .; uname -s; hostname | wc -l; tty; locale charmap; getconf PAGE_SIZE; ls -la / | wc -l | grep -c .; df . | tail -1 | wc -l; dirname /a/b/c; basename x.tar .tar; realpath --relative-to=/a /a/b; pathchk ok; truncate -s 5 t; stat -c %s t; install -m 600 t u; stat -c %a u; ln t v; stat -c %h t; tsort <<< "a b b c" | paste -sd' '; csplit -s - 2 <<< $'1\n2\n3'; ls xx*; join <(printf '1 a\n2 b\n') <(printf '1 x\n3 y\n'); pr -t -2 -l2 <(seq 4) | wc -l; echo "aéz" | wc -m; echo é | iconv -f utf8 -t latin1 | od -An -tx1; awk 'BEGIN{srand(1); print (rand()<1)}'; python3 -c 'import sys,json; print(json.load(sys.stdin)["a"])' <<< '{"a": 1}'; xargs -n2 echo <<< "1 2 3"; envsubst <<< 'x' 2>/dev/null || echo x; tar czf - part.* | tar tzf - | wc -l; sleep 0; ps >/dev/null 2>&1; true
