#include "plugin/index_format/analysis/word_rules.h"

namespace relucent::analysis {

const char* const kWordRules = R"rules(
# Word rules for ICU's RuleBasedBreakIterator (ICU 72 syntax) that cut text as the StandardTokenizer of
# Java Lucene 8.8.1 does: UAX #29 of Unicode 9.0, emoji sequences of UTS #51 revision 11.0, runs of
# South East Asian scripts (Line_Break=SA) kept whole. No "!!chain": each rule is a regular expression, the longest
# match wins, and of equally long ones the one with the largest {status}. Status 0 (no rule) is not a token.
# Properties come from the ICU in use, cut down to Unicode 9.0 with [:age=9.0:]; the sets called Was... and
# Since... hold the characters of Unicode 9.0 whose properties changed by Unicode 15.0 (ICU 72).

!!quoted_literals_only;

$Then = [:age=9.0:];
$SinceLetter = [\u02C2-\u02C5 \u02D2-\u02D7 \u02DE \u02DF \u02E5-\u02EB \u02ED \u02EF-\u02FF \u055A-\u055C \u055E
                \u058A \u1CF2 \u1CF3 \uA708-\uA716 \uA720 \uA721 \uA789 \uA78A \uAB5B];
$SinceMidLetter = [\u055F];
$WasMidLetter   = [\u02D7];
$WasExtend      = [\u1CF2 \u1CF3];
$SinceExtend    = [\U000111C9 \U0001F3FB-\U0001F3FF];
$WasPictographic = [\U0001FB00-\U0001FBFF];
$SinceModifierBase = [\U0001F46A-\U0001F46D \U0001F46F \U0001F48F \U0001F491 \U0001F90C \U0001F90F \U0001F91D \U0001F93C
                      \U0001F977 \U0001F9BB \U0001F9CD-\U0001F9CF \U0001FAC3-\U0001FAC5 \U0001FAF0-\U0001FAF8];

# Character classes
$Letter    = [[[:Word_Break=ALetter:][:Word_Break=Hebrew_Letter:]] & $Then - $SinceLetter];
$Hebrew    = [[:Word_Break=Hebrew_Letter:] & $Then];
$Hangul    = [[:Script=Hangul:] & $Letter];
$Digit     = [[[:Word_Break=Numeric:] [[:Block=Halfwidth_And_Fullwidth_Forms:] & [:Nd:]]] & $Then];
$Katakana  = [[:Word_Break=Katakana:] & $Then];
$Joiner    = [[:Word_Break=ExtendNumLet:] & $Then];
$MidLetter = [[[:Word_Break=MidLetter:] & $Then - $SinceMidLetter] $WasMidLetter];
$MidDigit  = [[:Word_Break=MidNum:] & $Then];
$MidBoth   = [[[:Word_Break=MidNumLet:][:Word_Break=Single_Quote:]] & $Then];
$Apostrophe = [:Word_Break=Single_Quote:];
$Quote     = [:Word_Break=Double_Quote:];
$Zwj       = [:Word_Break=ZWJ:];
$Mark      = [[[[:Word_Break=Extend:][:Word_Break=Format:]] & $Then - $SinceExtend] $WasExtend $Zwj];
$Flag      = [:Word_Break=Regional_Indicator:];
$Han       = [[:Script=Han:] & $Then];
$Hiragana  = [[:Script=Hiragana:] & $Then];
$SouthEast = [[:Line_Break=SA:] & $Then];
$TextStyle = [\uFE0E];
$EmojiStyle = [\uFE0F];
$KeyCap    = [\u20E3];
$KeyBase   = [0-9 \u0023 \u002A];
$TagMark   = [\U000E0020-\U000E007E];
$TagEnd    = [\U000E007F];
$Picture   = [[:Extended_Pictographic:] $WasPictographic];
$SkinTone  = [:Emoji_Modifier:];
$Person    = [[:Emoji_Modifier_Base:] - $SinceModifierBase];
$EmojiMark = [$Mark - $TextStyle - $EmojiStyle];

# WB4: a character carries the marks after it. Emoji carry all marks but the two presentation selectors.
$L = $Letter $Mark*;      $H = $Hebrew $Mark*;     $G = $Hangul $Mark*;   $D = $Digit $Mark*;
$K = $Katakana $Mark*;    $J = $Joiner $Mark*;
$ML = [$MidLetter $MidBoth] $Mark*;                $MD = [$MidDigit $MidBoth] $Mark*;
$A = $Apostrophe $Mark*;  $Q = $Quote $Mark*;

# WB5-WB7, WB8, WB11, WB12: letters and digits in a row, one mid character allowed between two of a kind.
# WB7a-WB7c: a Hebrew letter keeps an apostrophe; a quotation mark joins one pair of Hebrew letters (a second pair only
# if it starts with a letter of its own, which is narrower than UAX #29).
# WB9, WB10: such pieces follow each other freely. WB13: katakana only with katakana. WB13a, WB13b: joiners at all ends.
$Letters = $L ($ML? $L)*;
$Number  = $D ($MD? $D)*;
$Quoted  = $H $A | $H $Q $H;
$Chain   = ($Letters | $Number | $Quoted)+ | $K+;

# Emoji
$Element = $Zwj* $Picture $EmojiMark* $EmojiStyle? | ($Zwj* $Person $EmojiMark*)? $SkinTone $EmojiMark*;

$Element ($Zwj $Element)*                               {800};
$Element $TagMark+ $TagEnd                              {800};
$KeyBase $EmojiMark* $EmojiStyle? $KeyCap $EmojiMark*   {800};
$Flag $Mark* $Flag $Mark*                               {800};
$J* $Number ($J+ $Number)* $J*                          {700};
$G+                                                     {600};
$K+                                                     {500};
$J* $Chain ($J+ $Chain)* $J*                            {400};
($SouthEast $Mark*)+                                    {300};
$Han $Mark*                                             {200};
$Hiragana $Mark*                                        {100};
[^];
)rules";

}  // namespace relucent::analysis
