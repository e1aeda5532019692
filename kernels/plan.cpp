#include "relucent/kernels/plan.h"

#include <fmt/core.h>

#include <algorithm>

#include "relucent/error.h"

namespace relucent {
namespace {

std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }

[[noreturn]] void refuse(const std::string& problem) {
  throw Error(ErrorKind::invalid_data, "encoder description", problem);
}

void check_group(const EncoderDescription& d, std::int32_t group) {
  if (group < 0 || index(group) >= d.groups.size()) refuse(fmt::format("there is no group {}", group));
}

void check_views(const EncoderDescription& d, const Attention& attention) {
  const std::size_t groups = d.groups.size();
  if (attention.views.size() > groups) refuse("a layer has views of more groups than there are");
  for (const auto& of_group : attention.views) {
    if (!of_group.empty() && of_group.size() != groups) refuse("a group's views must be one per group");
    for (const View& view : of_group) {
      if (view.kind == View::Kind::window && view.window < 0) {
        throw Error(ErrorKind::invalid_data, "attention window", "is negative", "leave it unset for no window");
      }
    }
  }
}

void check_derivation(const EncoderDescription& d, const TokenGroup& group) {
  check_group(d, group.derived->group);
  const auto stack_of = [&](std::int32_t which) {
    std::size_t stack = 0;
    const auto in = [&](const Stack& one) { return std::count(one.groups.begin(), one.groups.end(), which) > 0; };
    while (stack < d.stacks.size() && !in(d.stacks[stack])) ++stack;
    return stack;
  };
  const auto own = static_cast<std::int32_t>(&group - d.groups.data());
  if (group.derived->tokens < 1 || stack_of(group.derived->group) >= stack_of(own) ||
      stack_of(own) == d.stacks.size()) {
    refuse(group.name + " must derive at least one token from a group of an earlier stack");
  }
}

void check_gated(const EncoderDescription& d, const Stack& stack, const GatedToken& gated) {
  for (const std::int32_t group : {gated.group, gated.hint_group}) {
    check_group(d, group);
    if (std::count(stack.groups.begin(), stack.groups.end(), group) == 0) {
      refuse("a gated token and its hint must belong to the layer's stack");
    }
  }
}

bool is_pivots(const EncoderDescription& d, std::int32_t group) { return d.groups[index(group)].pivots_of.has_value(); }

/// Pivots must be of groups of the stack that they follow.
void check_exchanges(const EncoderDescription& d, const Stack& stack) {
  if (!stack.exchanges.empty() && stack.exchanges.size() != stack.layers.size()) {
    refuse("a stack needs one exchange per layer, or none");
  }
  for (const Exchange& exchange : stack.exchanges) {
    for (const std::int32_t group : exchange.groups) {
      check_group(d, group);
      const auto& of = d.groups[index(group)].pivots_of;
      if (!of || std::count(stack.groups.begin(), stack.groups.end(), *of) == 0) {
        refuse(fmt::format("{} are not pivots of the stack's tokens", d.groups[index(group)].name));
      }
    }
    if (exchange.layer.attentions.size() != 1) refuse("an exchange needs one attention");
    check_views(d, exchange.layer.attentions.front());
    for (const auto& of_group : exchange.layer.attentions.front().views) {
      for (std::size_t seen = 0; seen < of_group.size(); ++seen) {
        const bool pivots = d.groups[seen].pivots_of.has_value();
        if (of_group[seen].kind != View::Kind::none && !pivots) refuse("pivots can see pivots only");
      }
    }
  }
}

void check(const EncoderDescription& d) {
  if (d.groups.empty() || d.stacks.empty() || d.head.groups.empty()) {
    refuse("needs at least one group of tokens, one stack of layers and one group for the head");
  }
  std::vector<bool> in_stack(d.groups.size());
  for (std::size_t s = 0; s < d.stacks.size(); ++s) {
    if (d.stacks[s].layers.empty()) refuse("a stack has no layers");
    for (const std::int32_t group : d.stacks[s].groups) {
      check_group(d, group);
      if (is_pivots(d, group))
        refuse(fmt::format("{} are pivots, but pass through layers", d.groups[index(group)].name));
      if (in_stack[index(group)]) refuse(fmt::format("{} is in two stacks", d.groups[index(group)].name));
      in_stack[index(group)] = true;
    }
    for (const Layer& layer : d.stacks[s].layers) {
      for (const Attention& attention : layer.attentions) {
        check_views(d, attention);
        if (attention.gated) check_gated(d, d.stacks[s], *attention.gated);
        for (std::size_t earlier = 0; attention.keys_of_layer && earlier < s; ++earlier) {
          if (*attention.keys_of_layer < 0 || index(*attention.keys_of_layer) >= d.stacks[earlier].layers.size()) {
            refuse(fmt::format("there is no layer {} whose keys could be seen", *attention.keys_of_layer));
          }
        }
      }
    }
  }
  for (const TokenGroup& group : d.groups) {
    if (group.derived) check_derivation(d, group);
    if (group.pivots_of) check_group(d, *group.pivots_of);
  }
  const bool documents = d.head.pivots.has_value();
  for (const Stack& stack : d.stacks) {
    check_exchanges(d, stack);
    if (!stack.exchanges.empty() && !documents) refuse("exchanges need a head that pools pivots");
  }
  for (const std::int32_t group : d.head.groups) {
    check_group(d, group);
    if (is_pivots(d, group) != documents) refuse("the head pools pivots, and only them");
  }
  if (d.head.dot_with) {
    check_group(d, *d.head.dot_with);
    if (documents) refuse("a head that pools pivots needs output rows");
  } else if (d.head.dot_layer || d.head.pools_inputs || d.head.compares) {
    refuse("only a head that takes the states of two groups chooses which ones");
  }
  if (d.head.classifies && (documents || d.head.per_token || (d.head.dot_with && !d.head.compares))) {
    refuse("labels need output rows of a candidate");
  }
  if (d.head.dot_layer) {
    const auto of = std::ranges::find_if(
        d.stacks, [&](const Stack& stack) { return std::ranges::count(stack.groups, *d.head.dot_with) > 0; });
    if (*d.head.dot_layer < 0 || of == d.stacks.end() || index(*d.head.dot_layer) >= of->layers.size()) {
      refuse(fmt::format("there is no layer {} whose input the head could take", *d.head.dot_layer));
    }
  }
}

class Planner {
 public:
  explicit Planner(const EncoderDescription& description)
      : d_(description), stack_of_(d_.groups.size(), d_.stacks.size()) {
    for (std::size_t s = 0; s < d_.stacks.size(); ++s) {
      for (const std::int32_t group : d_.stacks[s].groups) stack_of_[index(group)] = s;
      plan_.stacks.emplace_back(d_.stacks[s].layers.size(), std::vector<GroupPlan>(d_.groups.size()));
    }
  }

  Plan make() {
    find_dependence();
    find_needs();
    return std::move(plan_);
  }

 private:
  /// The groups that one group sees in an attention.
  template <typename Work>
  static void for_each_seen(const Attention& attention, std::size_t group, const Work& work) {
    if (group >= attention.views.size()) return;
    for (std::size_t other = 0; other < attention.views[group].size(); ++other) {
      if (attention.views[group][other].kind != View::Kind::none) work(other, attention.views[group][other].kind);
    }
  }
  bool reads_layer_keys(const Attention& attention, std::size_t stack, std::size_t seen) const {
    return attention.keys_of_layer && stack_of_[seen] < stack;
  }
  GroupPlan& keys_seen(const Attention& attention, std::size_t group) {
    return plan_.stacks[stack_of_[group]][index(*attention.keys_of_layer)][group];
  }

  void find_dependence() {
    std::vector<Dependence> now;
    for (const TokenGroup& group : d_.groups) now.push_back(group.input);
    for (std::size_t s = 0; s < d_.stacks.size(); ++s) {
      for (const std::int32_t group : d_.stacks[s].groups) {
        const std::optional<Derivation>& derived = d_.groups[index(group)].derived;
        if (derived) now[index(group)] = now[index(group)] | now[index(derived->group)];
      }
      for (std::size_t l = 0; l < d_.stacks[s].layers.size(); ++l) {
        std::vector<GroupPlan>& groups = plan_.stacks[s][l];
        for (std::size_t g = 0; g < groups.size(); ++g) groups[g].before = now[g];
        for (const Attention& attention : d_.stacks[s].layers[l].attentions) {
          const std::vector<Dependence> input = now;
          for (const std::int32_t group : d_.stacks[s].groups) {
            for_each_seen(attention, index(group), [&](std::size_t seen, View::Kind kind) {
              Dependence& of = now[index(group)];
              of = of | (reads_layer_keys(attention, s, seen) ? keys_seen(attention, seen).before : input[seen]);
              if (kind == View::Kind::across || kind == View::Kind::linked) of = of | Dependence::set;
            });
          }
          if (const auto& gated = attention.gated) {
            Dependence& of = now[index(gated->group)];
            of = of | input[index(gated->hint_group)];
          }
        }
        if (const Exchange* exchange = exchange_after(s, l)) depend_on_exchange(*exchange, groups, now);
        if (l == 0 && d_.stacks[s].convolution) depend_on_neighbours(d_.stacks[s].groups, groups, now);
        for (std::size_t g = 0; g < groups.size(); ++g) groups[g].after = now[g];
      }
    }
  }

  /// A convolution reaches into the next groups' inputs.
  static void depend_on_neighbours(const std::vector<std::int32_t>& groups, const std::vector<GroupPlan>& plan,
                                   std::vector<Dependence>& now) {
    Dependence all = Dependence::nothing;
    for (const std::int32_t group : groups) all = all | plan[index(group)].before;
    for (const std::int32_t group : groups) now[index(group)] = now[index(group)] | all;
  }

  const Exchange* exchange_after(std::size_t stack, std::size_t layer) const {
    const std::vector<Exchange>& exchanges = d_.stacks[stack].exchanges;
    return exchanges.empty() ? nullptr : &exchanges[layer];
  }
  std::size_t source(std::int32_t pivots) const { return index(*d_.groups[index(pivots)].pivots_of); }

  /// Pivots depend on the tokens that they are the means of, and on the pivots that they see; their tokens on them.
  void depend_on_exchange(const Exchange& exchange, std::vector<GroupPlan>& groups, std::vector<Dependence>& now) {
    for (const std::int32_t group : exchange.groups) groups[index(group)].before = now[source(group)];
    for (const std::int32_t group : exchange.groups) {
      now[index(group)] = groups[index(group)].before;
      for_each_seen(exchange.layer.attentions.front(), index(group), [&](std::size_t seen, View::Kind kind) {
        now[index(group)] = now[index(group)] | groups[seen].before;
        const bool several = kind == View::Kind::linked || kind == View::Kind::across;
        if (several) now[index(group)] = now[index(group)] | Dependence::set;
      });
    }
    for (const std::int32_t group : exchange.groups) {
      Dependence& of = now[source(group)];
      if (exchange.combines) of = of | now[index(group)];
    }
  }

  void find_needs() {
    std::vector<bool> live(d_.groups.size());  // whether the group's states are read later
    for (const std::int32_t group : d_.head.groups) {
      live[index(group)] = true;
      // Without exchanges the head makes the pivots.
      if (is_pivots(d_, group) && d_.stacks.back().exchanges.empty()) live[source(group)] = true;
    }
    if (d_.head.dot_with && !d_.head.dot_layer) live[index(*d_.head.dot_with)] = true;
    for (std::size_t s = d_.stacks.size(); s-- > 0;) {
      for (std::size_t l = d_.stacks[s].layers.size(); l-- > 0;) {
        std::vector<GroupPlan>& groups = plan_.stacks[s][l];
        if (const Exchange* exchange = exchange_after(s, l)) need_exchange(*exchange, groups, live);
        for (const std::int32_t group : d_.stacks[s].groups) {
          if (live[index(group)]) groups[index(group)].need = Need::states;
        }
        if (const std::optional<std::int32_t> layer = d_.head.dot_layer; layer && index(*layer) == l) {
          const std::size_t group = index(*d_.head.dot_with);
          if (stack_of_[group] == s) groups[group].need = std::max(groups[group].need, Need::keys);
        }
        for (bool more = true; more;) more = add_needs(s, l);
        for (std::size_t g = 0; g < groups.size(); ++g) {
          if (d_.groups[g].pivots_of) continue;
          live[g] = groups[g].need != Need::nothing || (live[g] && stack_of_[g] != s);
        }
      }
      for (const std::int32_t group : d_.stacks[s].groups) {
        const std::optional<Derivation>& derived = d_.groups[index(group)].derived;
        if (derived && live[index(group)]) live[index(derived->group)] = true;
      }
    }
  }

  /// The pivots that are read after an exchange, by the head or by live tokens, and what these see; then their tokens
  /// are live, and the pivots themselves, which each exchange makes again, are not.
  void need_exchange(const Exchange& exchange, std::vector<GroupPlan>& groups, std::vector<bool>& live) const {
    for (const std::int32_t group : exchange.groups) {
      if (!live[index(group)] && !(exchange.combines && live[source(group)])) continue;
      groups[index(group)].need = Need::states;
      for_each_seen(exchange.layer.attentions.front(), index(group),
                    [&](std::size_t seen, View::Kind) { groups[seen].need = std::max(groups[seen].need, Need::keys); });
    }
    for (const std::int32_t group : exchange.groups) {
      live[index(group)] = false;
      if (groups[index(group)].need != Need::nothing) live[source(group)] = true;
    }
  }

  /// Adds what the tokens needed so far see in a layer; returns whether tokens must be computed that were not before.
  bool add_needs(std::size_t s, std::size_t l) {
    bool more = false;
    std::vector<GroupPlan>& groups = plan_.stacks[s][l];
    const std::vector<Attention>& attentions = d_.stacks[s].layers[l].attentions;
    for (const std::int32_t group : d_.stacks[s].groups) {
      if (groups[index(group)].need != Need::states) continue;
      for (const Attention& attention : attentions) {
        for_each_seen(attention, index(group), [&](std::size_t seen, View::Kind) {
          GroupPlan& of = reads_layer_keys(attention, s, seen) ? keys_seen(attention, seen) : groups[seen];
          // What a second attention sees of its own stack has passed through the first one.
          const bool passed = stack_of_[seen] == s && &attention != &attentions.front();
          more = more || (passed && of.need != Need::states);
          of.need = std::max(of.need, passed ? Need::states : Need::keys);
        });
        if (const auto& gated = attention.gated; gated && gated->group == group) {
          Need& hint = groups[index(gated->hint_group)].need;
          const Need wanted = &attention != &attentions.front() ? Need::states : Need::keys;
          more = more || (wanted == Need::states && hint != Need::states);
          hint = std::max(hint, wanted);
        }
      }
    }
    return more;
  }

  const EncoderDescription& d_;
  std::vector<std::size_t> stack_of_;  // the number of stacks: in none
  Plan plan_;
};

}  // namespace

bool Plan::computed_once(std::int32_t group) const {
  for (const auto& layers : stacks) {
    for (const auto& groups : layers) {
      const GroupPlan& of = groups[index(group)];
      if (of.need != Need::nothing && !within(of.before, Dependence::query)) return false;
      if (of.need == Need::states && !within(of.after, Dependence::query)) return false;
    }
  }
  return true;
}

std::size_t Plan::layers_apart() const {
  if (stacks.size() != 1) return 0;
  const auto is_apart = [](const GroupPlan& group) {
    return within(group.after, Dependence::query) || within(group.after, Dependence::candidate);
  };
  const auto& layers = stacks.front();
  const auto end =
      std::ranges::find_if_not(layers, [&](const auto& groups) { return std::ranges::all_of(groups, is_apart); });
  return static_cast<std::size_t>(end - layers.begin());
}

Plan make_plan(const EncoderDescription& description) {
  check(description);
  return Planner(description).make();
}

}  // namespace relucent
