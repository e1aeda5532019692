#pragma once

#include <string>

namespace relucent::analysis {

// The light stemmers that modern Lucene uses by default: Jacques Savoy's for European languages ("Light Stemming
// Approaches for the French, Portuguese, German and Hungarian Languages", SAC 2006; "Report on CLEF-2001 Experiments"),
// and those of the papers named at the functions. All work on words in lower case and count UTF-16 units.

/// Writes ss for ß, a vowel for an umlaut or its spelling with e ("ae", "oe", "ue").
void normalize_german(std::u16string& word);
void stem_german(std::u16string& word);
void stem_french(std::u16string& word);
void stem_spanish(std::u16string& word);
void stem_italian(std::u16string& word);
void stem_portuguese(std::u16string& word);
/// Fadillah Z. Tala: "A Study of Stemming Effects on Information Retrieval in Bahasa Indonesia", 2003.
void stem_indonesian(std::u16string& word);

/// One form of alef, yeh and heh; no vowel marks, no tatweel.
void normalize_arabic(std::u16string& word);
/// The light stemmer "light10" without its last steps: articles and conjunctions before a word, endings after it.
void stem_arabic(std::u16string& word);
/// Arabic letters for the Persian forms of yeh, kaf and heh.
void normalize_persian(std::u16string& word);

/// One code point for what several scripts of India also write with two or three.
void normalize_indic(std::u16string& word);
/// Prasad Pingali, Vasudeva Varma: "Word normalization in Indian languages"; Leah S. Larkey et al.: "Hindi CLIR in
/// Thirty Days".
void normalize_hindi(std::u16string& word);
/// Ananthakrishnan Ramanathan, Durgesh D Rao: "A Lightweight Stemmer for Hindi".
void stem_hindi(std::u16string& word);
/// Naushad UzZaman, Mumit Khan: "A Double Metaphone encoding for Bangla and its application in spelling checker".
void normalize_bengali(std::u16string& word);
/// P. Sengupta, B. B. Chaudhuri: "Natural Language Processing in an Indian Language (Bengali)-I: Verb Phrase Analysis".
void stem_bengali(std::u16string& word);

}  // namespace relucent::analysis
