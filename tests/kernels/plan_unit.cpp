// What each group of tokens depends on, and what each layer needs of it, for the encoders that there are.
#include <gtest/gtest.h>

#include "relucent/error.h"
#include "relucent/kernels/plan.h"
#include "tests/support/expect_error.h"

namespace relucent::testing {
namespace {

constexpr View kNone{}, kWhole{View::Kind::all}, kBand{View::Kind::window, 4}, kAcross{View::Kind::across};

Attention seeing(Views views) { return {.heads = 2, .head_size = 4, .scale = 0.5, .views = std::move(views)}; }

/// `layers` layers alike over all groups; the head reads the first group.
EncoderDescription encoder(std::vector<TokenGroup> groups, const Views& views, std::size_t layers = 3) {
  EncoderDescription description;
  Stack stack;
  for (std::size_t i = 0; i < groups.size(); ++i) stack.groups.push_back(static_cast<std::int32_t>(i));
  stack.layers.assign(layers, {{seeing(views)}, {.size = 8}});
  description.groups = std::move(groups);
  description.stacks = {stack};
  description.head.groups = {0};
  return description;
}

/// Needs of one layer, as text: n, k, s per group.
std::string needs(const std::vector<GroupPlan>& layer) {
  std::string text;
  for (const GroupPlan& group : layer) text += "nks"[static_cast<int>(group.need)];
  return text;
}

/// Dependences after one layer: -, q, c, p, s (nothing, query, candidate, pair, set) per group.
std::string after(const std::vector<GroupPlan>& layer) {
  std::string text;
  for (const GroupPlan& group : layer) text += "-qcp---s"[static_cast<int>(group.after)];
  return text;
}

TEST(Plan, BertNeedsAllKeysAndOnlyTheStateOfClsInTheLastLayer) {
  const Plan plan = make_plan(encoder(cross_encoder_groups(), views_of({})));
  ASSERT_EQ(plan.stacks.at(0).size(), 3U);
  EXPECT_EQ(needs(plan.stacks[0][0]), "sss");
  EXPECT_EQ(needs(plan.stacks[0][1]), "sss");
  EXPECT_EQ(needs(plan.stacks[0][2]), "skk");
  EXPECT_EQ(plan.stacks[0][0][kCls].before, Dependence::nothing);
  EXPECT_EQ(plan.stacks[0][0][kQuery].before, Dependence::query);
  EXPECT_EQ(after(plan.stacks[0][0]), "ppp");
  EXPECT_FALSE(plan.computed_once(kQuery));
}

AttentionPattern sparse_pattern() {
  AttentionPattern pattern;
  pattern.query_cls = pattern.query_document = false;
  pattern.window = 4;
  return pattern;
}

TEST(Plan, AnIndependentQueryIsComputedOnce) {
  const Plan plan = make_plan(encoder(cross_encoder_groups(), views_of(sparse_pattern())));
  for (const auto& layer : plan.stacks[0]) EXPECT_EQ(after(layer), "pqp");
  EXPECT_TRUE(plan.computed_once(kQuery));
  EXPECT_FALSE(plan.computed_once(kDocument));
  EXPECT_EQ(needs(plan.stacks[0][2]), "skk");
}

// Nothing reads what the query sees in the last layer.
TEST(Plan, AConvolutionMakesAnIndependentQueryDependOnItsNeighbours) {
  EncoderDescription description = encoder(cross_encoder_groups(), views_of(sparse_pattern()));
  description.stacks[0].convolution = Convolution{};
  const Plan plan = make_plan(description);
  EXPECT_EQ(after(plan.stacks[0][0]), "ppp");
  EXPECT_FALSE(plan.computed_once(kQuery));
}

TEST(Plan, TheLastLayersViewsOfTheQueryDoNotMatter) {
  EncoderDescription description = encoder(cross_encoder_groups(), views_of(sparse_pattern()));
  description.stacks[0].layers[2].attentions[0].views = views_of({});
  EXPECT_TRUE(make_plan(description).computed_once(kQuery));
  description.stacks[0].layers[1].attentions[0].views = views_of({});
  EXPECT_FALSE(make_plan(description).computed_once(kQuery));
}

TEST(Plan, WhatNobodySeesIsNotNeeded) {
  AttentionPattern blind;
  blind.cls_query = blind.document_query = blind.query_cls = false;
  Plan plan = make_plan(encoder(cross_encoder_groups(), views_of(blind)));
  for (const auto& layer : plan.stacks[0]) EXPECT_EQ(layer[kQuery].need, Need::nothing);

  // A document whose positions do not follow the query, and that does not see it: could be computed in advance.
  AttentionPattern apart;
  apart.document_query = apart.document_cls = false;
  std::vector<TokenGroup> groups = cross_encoder_groups();
  groups[kDocument].input = Dependence::candidate;
  plan = make_plan(encoder(groups, views_of(apart)));
  for (const auto& layer : plan.stacks[0]) EXPECT_EQ(layer[kDocument].after, Dependence::candidate);
  EXPECT_EQ(needs(plan.stacks[0][0]), "sss");
}

// Longformer: [CLS] and the query see and are seen by everything, the document has a window.
TEST(Plan, LongformersGlobalTokens) {
  AttentionPattern longformer;
  longformer.window = 4;
  const Plan plan = make_plan(encoder(cross_encoder_groups(), views_of(longformer)));
  EXPECT_EQ(after(plan.stacks[0][0]), "ppp");
  EXPECT_FALSE(plan.computed_once(kQuery));
}

// QDS: a fourth group, the starts of sentences, sees each other and is seen like the query.
TEST(Plan, SentenceStartsAreAGroupOfTheirOwn) {
  std::vector<TokenGroup> groups = cross_encoder_groups();
  groups.push_back({"sentence starts", Dependence::pair});
  const Plan plan = make_plan(encoder(groups, {{kWhole, kWhole, kNone, kWhole},
                                               {kNone, kWhole, kNone, kNone},
                                               {kWhole, kWhole, kBand, kWhole},
                                               {kWhole, kWhole, kWhole, kWhole}}));
  EXPECT_TRUE(plan.computed_once(kQuery));
  EXPECT_EQ(needs(plan.stacks[0][1]), "ssks");  // [CLS] hears of the document through the sentence starts alone
  EXPECT_EQ(needs(plan.stacks[0][2]), "sknk");
}

// ModernBERT: windows between all groups in some layers, the whole input in others.
TEST(Plan, AlternatingWindowsAreViewsLikeOthers) {
  const Views local(3, std::vector<View>(3, kBand)), global(3, std::vector<View>(3, kWhole));
  EncoderDescription description = encoder(cross_encoder_groups(), global);
  description.stacks[0].layers[1].attentions[0].views = local;
  description.head.groups = {kCls, kQuery, kDocument};  // mean pooling
  const Plan plan = make_plan(description);
  EXPECT_EQ(needs(plan.stacks[0][2]), "sss");
  description.head.groups = {kCls};
  EXPECT_EQ(needs(make_plan(description).stacks[0][2]), "skk");
}

EncoderDescription t5(const Views& encoder_views) {
  EncoderDescription description = encoder(
      {{"query", Dependence::query}, {"document", Dependence::pair}, {"decoder", Dependence::nothing}}, encoder_views);
  description.stacks[0].groups = {0, 1};
  const Attention self = seeing({{}, {}, {kNone, kNone, kWhole}}), other = seeing({{}, {}, {kWhole, kWhole, kNone}});
  description.stacks.push_back({{2}, std::vector<Layer>(2, {{self, other}, {.size = 8}})});
  description.head.groups = {2};
  return description;
}

TEST(Plan, ADecoderReadsTheWholeOutputOfItsEncoder) {
  const Plan plan = make_plan(t5({{kWhole, kWhole, kNone}, {kWhole, kWhole, kNone}}));
  for (const auto& layer : plan.stacks[0]) EXPECT_EQ(needs(layer), "ssn");
  for (const auto& layer : plan.stacks[1]) EXPECT_EQ(needs(layer), "kks");
  EXPECT_EQ(plan.stacks[1][0][2].before, Dependence::nothing);
  EXPECT_EQ(after(plan.stacks[1][0]), "ppp");
}

TEST(Plan, AQueryBeforeADecoderIsComputedOnceIfItSeesItselfAlone) {
  EXPECT_TRUE(make_plan(t5({{kWhole, kNone, kNone}, {kWhole, kWhole, kNone}})).computed_once(0));
  EXPECT_FALSE(make_plan(t5({{kWhole, kWhole, kNone}, {kWhole, kWhole, kNone}})).computed_once(0));
}

// MixEncoder: a candidate's few states, computed when it was indexed, see the query's keys of some layers.
TEST(Plan, OnlyKeysOfTheQueryAreNeededWhereACandidateReadsThem) {
  EncoderDescription description =
      encoder({{"candidate", Dependence::candidate}, {"query", Dependence::query}}, {{}, {kNone, kWhole}}, 4);
  description.stacks[0].groups = {1};
  Attention interaction = seeing({{kWhole, kWhole}, {}});
  interaction.keys_of_layer = 2;
  description.stacks.push_back({{0}, {{{interaction}, {.size = 8}}}});
  description.head.groups = {0};
  const Plan plan = make_plan(description);
  EXPECT_EQ(needs(plan.stacks[0][1]), "ns");
  EXPECT_EQ(needs(plan.stacks[0][2]), "nk");
  EXPECT_EQ(needs(plan.stacks[0][3]), "nn");
  EXPECT_EQ(needs(plan.stacks[1][0]), "sn");
  EXPECT_EQ(plan.stacks[1][0][0].before, Dependence::candidate);
  EXPECT_EQ(plan.stacks[1][0][0].after, Dependence::pair);
  EXPECT_TRUE(plan.computed_once(1));
}

// The whole of it: the text's context derives from its first tokens, and a gated token gathers what it finds in the
// query.
EncoderDescription mix_encoder() {
  EncoderDescription description =
      encoder(interaction_groups(Derivation::Kind::first_tokens, 2), interaction_text_views(), 4);
  description.stacks[0].groups = {kQuery, kDocument};
  Attention interaction = seeing(interaction_views());
  interaction.keys_of_layer = 2;
  interaction.gated = GatedToken{kCls, kContext, Pooling::mean};
  description.stacks.push_back({{kContext, kCls}, {{{interaction}, {.size = 8}}}});
  description.head = {.groups = {kContext}, .dot_with = kCls};
  return description;
}

TEST(Plan, AMixEncodersContextDependsOnTheCandidateAlone) {
  const Plan plan = make_plan(mix_encoder());
  EXPECT_EQ(needs(plan.stacks[0][1]), "nssn");
  EXPECT_EQ(needs(plan.stacks[0][2]), "nksn");  // of the query only keys; the text until the end
  EXPECT_EQ(needs(plan.stacks[0][3]), "nnsn");
  EXPECT_EQ(after(plan.stacks[0][3]), "-qcc");
  EXPECT_EQ(needs(plan.stacks[1][0]), "snns");
  EXPECT_EQ(plan.stacks[1][0][kContext].before, Dependence::candidate);
  EXPECT_EQ(plan.stacks[1][0][kCls].before, Dependence::nothing);
  EXPECT_EQ(after(plan.stacks[1][0]), "pqcp");
  EXPECT_TRUE(plan.computed_once(kQuery));
}

TEST(Plan, AGatedTokenDependsOnItsHint) {
  EncoderDescription description = mix_encoder();
  description.stacks[1].layers[0].attentions[0].views[kCls] = {};  // sees nothing
  description.head = {.groups = {kCls}};                           // nothing else reads the context
  const Plan plan = make_plan(description);
  EXPECT_EQ(plan.stacks[1][0][kCls].after, Dependence::candidate);
  EXPECT_EQ(needs(plan.stacks[1][0]), "snnk");
  EXPECT_EQ(needs(plan.stacks[0][3]), "nnsn");
}

TEST(Plan, ImpossibleMixEncodersAreRefused) {
  const auto refuse = [](const std::string& words, const auto& spoil) {
    EncoderDescription description = mix_encoder();
    spoil(description);
    expect_error(ErrorKind::invalid_data, {words}, [&] { make_plan(description); });
  };
  refuse("must derive at least one token", [](auto& d) { d.groups[kContext].derived->tokens = 0; });
  refuse("of an earlier stack", [](auto& d) { d.groups[kContext].derived->group = kCls; });
  refuse("no group 4", [](auto& d) { d.groups[kContext].derived->group = 4; });
  refuse("belong to the layer's stack",
         [](auto& d) { d.stacks[1].layers[0].attentions[0].gated->hint_group = kQuery; });
  refuse("no group 7", [](auto& d) { d.stacks[1].layers[0].attentions[0].gated->group = 7; });
  refuse("no group 9", [](auto& d) { d.head.dot_with = 9; });
}

// Tokens that see those of other candidates of the batch.
TEST(Plan, ViewsAcrossCandidatesDependOnTheirSet) {
  std::vector<TokenGroup> groups = cross_encoder_groups();
  groups[0].name = "passage token";
  EncoderDescription description = encoder(groups, views_of(sparse_pattern()));
  description.stacks[0].layers[1].attentions[0].views = {{kAcross, kNone, kNone}, {}, {}};
  const Plan plan = make_plan(description);
  EXPECT_EQ(after(plan.stacks[0][0]), "pqp");
  EXPECT_EQ(after(plan.stacks[0][1]), "sqp");
  EXPECT_EQ(after(plan.stacks[0][2]), "sqs");
  EXPECT_TRUE(plan.computed_once(kQuery));
}

/// MIR: C, Q and D of each passage, and pivots of C and of D that see those of their kind in all passages.
EncoderDescription passages() {
  EncoderDescription description = encoder(cross_encoder_groups(), views_of({}));
  description.groups.push_back({.name = "passages", .input = Dependence::pair, .pivots_of = kCls});
  description.groups.push_back({.name = "mentions", .input = Dependence::pair, .pivots_of = kDocument});
  constexpr View linked{View::Kind::linked};
  Exchange exchange{{3, 4}, description.stacks[0].layers[0]};
  exchange.layer.attentions[0].views = {
      {}, {}, {}, {kNone, kNone, kNone, linked, kNone}, {kNone, kNone, kNone, kNone, linked}};
  for (Layer& layer : description.stacks[0].layers) {
    for (std::vector<View>& views : layer.attentions[0].views) views.resize(5);
  }
  description.stacks[0].exchanges.assign(3, exchange);
  description.stacks[0].exchanges.back().combines = false;
  description.head = {
      .groups = {3, 4}, .pivots = PivotPooling{.heads = 2}, .steps = {{.size = description.hidden_size}}};
  return description;
}

TEST(Plan, ExchangesMakeTokensDependOnAllPassages) {
  const Plan plan = make_plan(passages());
  EXPECT_EQ(after(plan.stacks[0][0]), "spsss");  // the query hears of other passages a layer later
  EXPECT_EQ(after(plan.stacks[0][1]), "sssss");
  EXPECT_EQ(plan.stacks[0][0][3].before, Dependence::pair);
  EXPECT_EQ(plan.stacks[0][1][3].before, Dependence::set);
  EXPECT_EQ(needs(plan.stacks[0][1]), "sssss");
  EXPECT_EQ(needs(plan.stacks[0][2]), "sksss");  // of the last layer only the pivots are read
  EXPECT_FALSE(plan.computed_once(kQuery));
}

TEST(Plan, PivotsThatNobodyReadsAreNotNeeded) {
  EncoderDescription description = passages();
  description.head.groups = {3};
  EXPECT_EQ(needs(make_plan(description).stacks[0][2]), "skksn");
  EXPECT_EQ(needs(make_plan(description).stacks[0][1]), "sssss");
  for (Exchange& exchange : description.stacks[0].exchanges) exchange.combines = false;
  const Plan plan = make_plan(description);
  EXPECT_EQ(needs(plan.stacks[0][1]), "sssnn");
  EXPECT_EQ(after(plan.stacks[0][2]), "pppss");
}

TEST(Plan, WithoutExchangesTheHeadReadsThePivotsTokens) {
  EncoderDescription description = passages();
  description.stacks[0].exchanges.clear();
  EXPECT_EQ(needs(make_plan(description).stacks[0][2]), "sksnn");
  description.head.groups = {3};
  const Plan plan = make_plan(description);
  EXPECT_EQ(needs(plan.stacks[0][2]), "skknn");
  EXPECT_EQ(after(plan.stacks[0][2]).substr(0, 3), "ppp");
}

TEST(Plan, ImpossibleExchangesAreRefused) {
  const auto refuse = [](const std::string& words, const auto& spoil) {
    EncoderDescription description = passages();
    spoil(description);
    expect_error(ErrorKind::invalid_data, {words}, [&] { make_plan(description); });
  };
  refuse("one exchange per layer", [](auto& d) { d.stacks[0].exchanges.pop_back(); });
  refuse("not pivots of the stack's tokens", [](auto& d) { d.stacks[0].exchanges[0].groups = {2}; });
  refuse("not pivots of the stack's tokens", [](auto& d) { d.groups[3].pivots_of = 4; });
  refuse("no group 9", [](auto& d) { d.groups[3].pivots_of = 9; });
  refuse("pass through layers", [](auto& d) { d.stacks[0].groups.push_back(3); });
  refuse("see pivots only",
         [](auto& d) { d.stacks[0].exchanges[0].layer.attentions[0].views[3][2] = {View::Kind::all}; });
  refuse("one attention", [](auto& d) { d.stacks[0].exchanges[0].layer.attentions.clear(); });
  refuse("need a head that pools pivots", [](auto& d) { d.head.pivots.reset(); });
  refuse("pools pivots, and only them", [](auto& d) { d.head.groups = {kCls}; });
}

TEST(Plan, ImpossibleDescriptionsAreRefused) {
  const auto refuse = [](const std::string& words, const auto& spoil) {
    EncoderDescription description = encoder(cross_encoder_groups(), views_of({}));
    spoil(description);
    expect_error(ErrorKind::invalid_data, {words}, [&] { make_plan(description); });
  };
  refuse("at least one group", [](auto& d) { d.groups.clear(); });
  refuse("at least one group", [](auto& d) { d.stacks.clear(); });
  refuse("one group for the head", [](auto& d) { d.head.groups.clear(); });
  refuse("no layers", [](auto& d) { d.stacks[0].layers.clear(); });
  refuse("no group 3", [](auto& d) { d.head.groups = {3}; });
  refuse("no group -1", [](auto& d) { d.stacks[0].groups = {-1}; });
  refuse("in two stacks", [](auto& d) { d.stacks.push_back(d.stacks[0]); });
  refuse("views of more groups", [](auto& d) { d.stacks[0].layers[1].attentions[0].views.resize(4); });
  refuse("one per group", [](auto& d) { d.stacks[0].layers[1].attentions[0].views[0].resize(2); });
  refuse("is negative", [](auto& d) { d.stacks[0].layers[1].attentions[0].views[2][2] = {View::Kind::window, -1}; });
  refuse("no layer 3", [](auto& d) {
    d.groups.push_back({"later", Dependence::candidate});
    Stack later = d.stacks[0];
    later.groups = {3};
    later.layers[0].attentions[0].views.clear();
    later.layers[0].attentions[0].keys_of_layer = 3;
    for (Layer& layer : later.layers) layer.attentions[0].views.clear();
    for (Layer& layer : d.stacks[0].layers) layer.attentions[0].views.clear();
    d.stacks.push_back(later);
  });
}

}  // namespace
}  // namespace relucent::testing
