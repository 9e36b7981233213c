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
