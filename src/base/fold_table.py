#!/usr/bin/env python3
"""Prints the tables of fold.c: what each code point becomes under compatibility decomposition and case folding, and the
combining classes, from the Unicode data that Python carries."""
import unicodedata

HANGUL = range(0xAC00, 0xD7A4)  # decomposed by arithmetic
SURROGATES = range(0xD800, 0xE000)


def fold(text):
    while True:
        folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
        if folded == text:
            return folded
        text = folded


def classes():
    ranges = []
    for code in range(0x110000):
        rank = unicodedata.combining(chr(code))
        if rank and ranges and ranges[-1][1] == code - 1 and ranges[-1][2] == rank:
            ranges[-1][1] = code
        elif rank:
            ranges.append([code, code, rank])
    return ranges


def main():
    rows, pool, places = [], bytearray(), {}
    for code in range(0x80, 0x110000):
        if code in HANGUL or code in SURROGATES:
            continue
        text = fold(chr(code))
        if text == chr(code):
            continue
        data = text.encode()
        if data not in places:
            places[data] = len(pool)
            pool += data
        rows.append(f"    {{0x{code:x}, {places[data]}, {len(data)}}},")
    print('#include "base/fold_table.h"\n')
    print(f"const size_t fold_row_count = {len(rows)};")
    print("const struct fold_row fold_rows[] = {", *rows, "};", sep="\n")
    ranges = classes()
    print(f"const size_t fold_class_count = {len(ranges)};")
    print("const struct fold_class fold_classes[] = {")
    print(*[f"    {{0x{first:x}, 0x{last:x}, {rank}}}," for first, last, rank in ranges], "};", sep="\n")
    print("const unsigned char fold_pool[] = {")
    for at in range(0, len(pool), 24):
        print("    " + "".join(f"{byte}," for byte in pool[at : at + 24]))
    print("};")


main()
