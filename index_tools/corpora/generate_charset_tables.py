#!/usr/bin/env python3
"""Writes charset_tables.inc from Python's codecs, so that decode_charset() decodes the same way.

Usage: generate_charset_tables.py > charset_tables.inc     (Python 3.11, ICU 72)

Single-byte codecs are written whole. Only the differences from an ICU converter are written for double-byte codecs.
"""

import codecs
import ctypes
import encodings.aliases
import re
import subprocess
import sys

# The double-byte codecs that occur on web pages, and the closest ICU converter of each.
DOUBLE_BYTE = {
    "big5": "windows-950-2000",
    "cp932": "ibm-943_P15A-2003",
    "cp949": "windows-949-2000",
    "cp950": "windows-950-2000",
    "euc_jp": "euc-jp-2007",
    "euc_kr": "windows-949-2000",
    "gb18030": "gb18030",
    "gb2312": "ibm-1383_P110-1999",
    "gbk": "windows-936-2000",
    "shift_jis": "ibm-943_P15A-2003",
}
KEEPS_PRIVATE = {"cp932", "gb18030"}  # the others have no private-use characters
# Codecs that the reader decodes by rule or leaves entirely to ICU.
OTHER = [
    "utf_8",
    "utf_8_sig",
    "utf_16",
    "utf_16_le",
    "utf_16_be",
    "utf_32",
    "utf_32_le",
    "utf_32_be",
    "utf_7",
    "big5hkscs",
    "hz",
    "iso2022_jp",
    "iso2022_jp_1",
    "iso2022_jp_2",
    "iso2022_jp_2004",
    "iso2022_jp_3",
    "iso2022_jp_ext",
    "iso2022_kr",
    "johab",
    "euc_jis_2004",
    "euc_jisx0213",
    "shift_jis_2004",
    "shift_jisx0213",
]


def icu():
    library = ctypes.CDLL("libicuuc.so.72")

    def decode(converter, data):
        error = ctypes.c_int(0)
        out = (ctypes.c_uint16 * 8)()
        library.ucnv_reset_72(converter)
        target, source = ctypes.cast(out, ctypes.c_void_p), ctypes.c_char_p(data)
        start = target.value
        source_pointer = ctypes.cast(source, ctypes.c_void_p)
        end = ctypes.c_void_p(source_pointer.value + len(data))
        library.ucnv_toUnicode_72(
            ctypes.c_void_p(converter),
            ctypes.byref(target),
            ctypes.c_void_p(start + 16),
            ctypes.byref(source_pointer),
            end,
            None,
            1,
            ctypes.byref(error),
        )
        if error.value > 0:
            return None
        return bytes(out)[: target.value - start].decode("utf-16-le", "surrogatepass")

    def opened(name):
        error = ctypes.c_int(0)
        library.ucnv_open_72.restype = ctypes.c_void_p
        converter = library.ucnv_open_72(name.encode(), ctypes.byref(error))
        assert error.value <= 0, name
        stop = ctypes.cast(library.UCNV_TO_U_CALLBACK_STOP_72, ctypes.c_void_p)
        library.ucnv_setToUCallBack_72(ctypes.c_void_p(converter), stop, None, None, None, ctypes.byref(error))
        library.ucnv_reset_72.argtypes = [ctypes.c_void_p]
        return converter

    return opened, decode


def python_character(codec, data):
    try:
        text = data.decode(codec)
    except UnicodeDecodeError:
        return None
    return text if len(text) == 1 else None


def is_private(text):
    return "\ue000" <= text <= "\uf8ff"


def literal(characters):
    """128 characters as a C++ UTF-16 literal; U+FFFD stands for an undecodable byte."""
    return 'u"' + "".join(f"\\x{ord(c):04X}" for c in characters) + '"'


def upper_half(codec):
    return [python_character(codec, bytes([byte])) or "\ufffd" for byte in range(0x80, 0x100)]


def is_single_byte(codec):
    try:
        if bytes(range(0x80)).decode(codec) != "".join(map(chr, range(0x80))):
            return False  # EBCDIC and similar
        probe = bytes(range(0x80, 0x100)).decode(codec, "ignore")
    except (LookupError, UnicodeError, AssertionError):
        return False
    return probe == "".join(c for c in upper_half(codec) if c != "\ufffd")


def differences(codec, converter_name, opened, decode, prefix=b""):
    """(first, last, code point or 0): pairs that Python and ICU decode differently; 0: not a character."""
    converter = opened(converter_name)
    found = []
    for pair in range(0x8000, 0x10000):
        data = prefix + bytes([pair >> 8, pair & 0xFF])
        if not prefix and python_character(codec, data[:1]):
            continue
        theirs = python_character(codec, data)
        ours = decode(converter, data)
        # The reader's own rules.
        if ours is not None and (len(ours) != 1 or (is_private(ours) and codec not in KEEPS_PRIVATE)):
            ours = None
        if ours == theirs:
            continue
        code = ord(theirs) if theirs else 0
        if (
            found
            and code == 0
            and found[-1][2] == 0
            and all(python_character(codec, bytes([p >> 8, p & 0xFF])) is None for p in range(found[-1][1], pair))
        ):
            found[-1][1] = pair
        else:
            found.append([pair, pair, code])
    return found


def main():
    normalized = {alias: codec for alias, codec in encodings.aliases.aliases.items()}
    modules = set(normalized.values()) | set(OTHER) | set(DOUBLE_BYTE)
    modules |= {"cp720", "cp737", "cp856", "cp874", "cp875", "cp1006", "koi8_r", "koi8_t", "koi8_u"}
    modules |= {"mac_arabic", "mac_croatian", "mac_farsi", "mac_romanian", "palmos"}
    single = sorted(m for m in modules if m not in OTHER and m not in DOUBLE_BYTE and is_single_byte(m))
    opened, decode = icu()
    print("// Written by generate_charset_tables.py with Python", sys.version.split()[0] + ". Do not edit.")
    print("constexpr SingleByteCodec kSingleByteCodecs[] = {")
    for codec in single:
        print(f'    {{"{codec}", {literal(upper_half(codec))}}},')
    print("};")
    print("constexpr DoubleByteCodec kDoubleByteCodecs[] = {")
    for codec, converter in DOUBLE_BYTE.items():
        print(f'    {{"{codec}", "{converter}", {literal(upper_half(codec))}}},')
    print("};")
    print("constexpr PairDifference kPairDifferences[] = {")
    for codec, converter in DOUBLE_BYTE.items():
        for first, last, code in differences(codec, converter, opened, decode):
            print(f'    {{"{codec}", 0x{first:04X}, 0x{last:04X}, 0x{code:04X}}},')
    for first, last, code in differences("euc_jp", DOUBLE_BYTE["euc_jp"], opened, decode, b"\x8f"):
        print(f'    {{"euc_jp after 8F", 0x{first:04X}, 0x{last:04X}, 0x{code:04X}}},')
    print("};")
    known = set(single) | set(OTHER) | set(DOUBLE_BYTE)
    print("constexpr CodecAlias kCodecAliases[] = {")
    for alias, codec in sorted(normalized.items()):
        if codec in known and alias != codec:
            print(f'    {{"{alias}", "{codec}"}},')
    print("};")


if __name__ == "__main__":
    main()
