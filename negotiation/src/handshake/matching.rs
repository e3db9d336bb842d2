//! Finding a stack that both ends can run.
//!
//! Each end's alternatives are a small automaton: a state for each layer, and a state for each choice, which
//! leads to either branch. The search walks both automata at once. Where both ends have a choice, the
//! server's order comes first, then the client's. A pair of states without a common stack is not tried again,
//! so the work is bounded by the product of the two sizes.

use super::requirements::Requirements;
use crate::wire::{OfferedLayer, OfferedNode};
use bertha_core::guarantee::Set;
use bertha_core::{LayerInfo, Mismatch, Node, Situation};
use std::collections::HashSet;

/// Maximum number of failed comparisons that are kept for the explanation.
const REASONS: usize = 8;

/// A stack that both ends can run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Match {
    /// The branch of each of the client's choices, in pre-order; 0 for choices in branches that are not used.
    pub client_picks: Vec<u8>,
    /// The branch of each of the server's choices, in pre-order.
    pub server_picks: Vec<u8>,
    /// The comparisons that failed during the search, which are the reasons for passed-over alternatives.
    pub reasons: Vec<String>,
    /// The number of pairs of states that were looked at.
    pub steps: usize,
}

/// The reasons why no stack suits both ends: the comparisons that failed, first those after the longest common
/// part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// The Chunnels that do not fit, each with the reason.
    pub reason: String,
    /// The number of pairs of states that were looked at.
    pub steps: usize,
}

/// Finds the first stack, by the server's preferences and then the client's, that both ends can run.
///
/// # Errors
/// `Rejected` if no stack suits both ends.
pub fn find(client: &[OfferedNode], server: &[Node]) -> Result<Match, Rejected> {
    find_within(client, server, Requirements::OPEN)
}

/// Works as [`find`], among the stacks whose layers on the server reach the floor of `requirements`, and have
/// their needs met by the layers below. Each guarantee that is asked for may double the steps.
///
/// # Errors
/// [`Rejected`] if there is none.
pub(crate) fn find_within(
    client: &[OfferedNode],
    server: &[Node],
    requirements: Requirements,
) -> Result<Match, Rejected> {
    search(client, server, requirements, false)
}

/// Works as [`find_within`], by the preferences of the offer first: it proposes a change of the stack in use.
/// In the [`Match`], the client is the proposer, and the server is the end that answers.
///
/// # Errors
/// [`Rejected`] if there is none.
pub(crate) fn find_for_proposer(
    offered: &[OfferedNode],
    own: &[Node],
    requirements: Requirements,
) -> Result<Match, Rejected> {
    search(offered, own, requirements, true)
}

fn search(
    client: &[OfferedNode],
    server: &[Node],
    requirements: Requirements,
    client_first: bool,
) -> Result<Match, Rejected> {
    let (client, client_choices) = Automaton::of(client);
    let (server, server_choices) = Automaton::of(server);
    let mut search = Search {
        client: &client,
        server: &server,
        client_picks: vec![0; client_choices],
        server_picks: vec![0; server_choices],
        client_first,
        dead_ends: HashSet::new(),
        reasons: Vec::new(),
        furthest: (0, Vec::new()),
        requirements,
        demands: Vec::new(),
        steps: 0,
    };
    if search.from(client.start, server.start, 0, requirements.floor) {
        let Search { client_picks, server_picks, reasons, steps, .. } = search;
        return Ok(Match { client_picks, server_picks, reasons, steps });
    }
    let Search { reasons, furthest: (_, mut all), steps, .. } = search;
    // The remaining alternatives failed earlier. A reader who wants one of them needs its reason, too.
    for reason in reasons {
        if all.len() < REASONS && !all.contains(&reason) {
            all.push(reason);
        }
    }
    Err(Rejected { reason: all.join("; "), steps })
}

/// The properties that both kinds of node share here.
trait Tree: Sized {
    type Layer;
    fn view(&self) -> View<'_, Self>;
    fn is_one_sided(layer: &Self::Layer) -> bool;
    /// Returns true if the node gives, withdraws or needs a guarantee, as far as its guarantees are known.
    fn is_about_guarantees(layer: &Self::Layer) -> bool;
}

enum View<'a, T: Tree> {
    Layer(&'a T::Layer),
    Select(&'a [Vec<T>; 2], u8),
}

impl Tree for Node {
    type Layer = LayerInfo;

    fn view(&self) -> View<'_, Self> {
        match self {
            Self::Layer(layer) => View::Layer(layer),
            Self::Select { branches, prefer } => {
                View::Select(branches, prefer.in_situation(&Situation::TWO_ENDS))
            }
        }
    }

    fn is_one_sided(layer: &LayerInfo) -> bool {
        layer.is_one_sided()
    }

    fn is_about_guarantees(layer: &LayerInfo) -> bool {
        layer.is_about_guarantees()
    }
}

impl Tree for OfferedNode {
    type Layer = OfferedLayer;

    fn view(&self) -> View<'_, Self> {
        match self {
            Self::Layer(layer) => View::Layer(layer),
            Self::Select { branches, prefer } => View::Select(branches, *prefer),
        }
    }

    fn is_one_sided(layer: &OfferedLayer) -> bool {
        layer.one_sided
    }

    fn is_about_guarantees(_: &OfferedLayer) -> bool {
        false
    }
}

enum SearchState<'a, L> {
    Layer {
        layer: &'a L,
        next: usize,
    },
    Choice {
        ways: Vec<Way>,
    },
    /// A layer without a counterpart, for what it guarantees and needs.
    Aside {
        layer: &'a L,
        next: usize,
    },
    End,
}

/// An alternative: its next state, and its picks. More than two alternatives are nested choices, so a later
/// alternative takes several picks.
struct Way {
    start: usize,
    picks: Vec<(usize, u8)>,
}

struct Automaton<'a, L> {
    states: Vec<SearchState<'a, L>>,
    start: usize,
}

impl<'a, L> Automaton<'a, L> {
    /// Returns the automaton of `nodes`, and the number of its choices.
    fn of<T: Tree<Layer = L>>(nodes: &'a [T]) -> (Self, usize) {
        let mut states = Vec::with_capacity(nodes.len() + 1);
        states.push(SearchState::End);
        let mut automaton = Self { states, start: 0 };
        let mut choices = 0;
        automaton.start = automaton.add(nodes, 0, &mut choices);
        (automaton, choices)
    }

    /// Adds `nodes` in front of the state `next`. Choices are numbered in pre-order, states come last first,
    /// so a choice takes its number before its branches are added.
    fn add<T: Tree<Layer = L>>(&mut self, nodes: &'a [T], next: usize, choices: &mut usize) -> usize {
        *choices += nodes.iter().map(count).sum::<usize>();
        let mut next = next;
        let mut number = *choices;
        for node in nodes.iter().rev() {
            number -= count(node);
            let state = match node.view() {
                // A layer that needs no counterpart takes no part in the search, except for its guarantees
                // and needs.
                View::Layer(layer) if T::is_one_sided(layer) => match T::is_about_guarantees(layer) {
                    false => continue,
                    true => SearchState::Aside { layer, next },
                },
                View::Layer(layer) => SearchState::Layer { layer, next },
                View::Select(..) => SearchState::Choice { ways: self.ways(node, number, next) },
            };
            self.states.push(state);
            next = self.states.len() - 1;
        }
        next
    }

    /// Returns the alternatives of the choice `number`: the preferred alternative, and then the rest as they
    /// are written.
    fn ways<T: Tree<Layer = L>>(&mut self, choice: &'a T, number: usize, next: usize) -> Vec<Way> {
        let View::Select([first, second], prefer) = choice.view() else { return Vec::new() };
        let mut inside = number + 1;
        let first = Way { start: self.add(first, next, &mut inside), picks: vec![(number, 0)] };
        let mut ways = match &second[..] {
            [nested] if matches!(nested.view(), View::Select(..)) => self.ways(nested, inside, next),
            branch => vec![Way { start: self.add(branch, next, &mut inside), picks: Vec::new() }],
        };
        ways.iter_mut().for_each(|way| way.picks.push((number, 1)));
        ways.insert(usize::from(prefer), first);
        ways
    }
}

/// Returns the number of choices in `node`.
fn count<T: Tree>(node: &T) -> usize {
    match node.view() {
        View::Layer(_) => 0,
        View::Select(branches, _) => 1 + branches.iter().flatten().map(count).sum::<usize>(),
    }
}

struct Search<'a> {
    client: &'a Automaton<'a, OfferedLayer>,
    server: &'a Automaton<'a, LayerInfo>,
    client_picks: Vec<u8>,
    server_picks: Vec<u8>,
    /// True if the client's order comes first where both ends have a choice.
    client_first: bool,
    /// The pairs of states from which no common stack gives these guarantees.
    dead_ends: HashSet<(usize, usize, Set)>,
    requirements: Requirements,
    /// The needs of the server's layers on the way here towards the layers below them, top first.
    demands: Vec<(&'static str, Set)>,
    reasons: Vec<String>,
    /// The number of common layers before the furthest mismatch, and the mismatches after that number.
    furthest: (usize, Vec<String>),
    steps: usize,
}

impl Search<'_> {
    /// Returns true if the rest of both stacks, from these states on, go together and give the `wanted`
    /// guarantees. Then the picks are set.
    fn from(&mut self, client: usize, server: usize, agreed: usize, wanted: Set) -> bool {
        if self.dead_ends.contains(&(client, server, wanted)) {
            return false;
        }
        self.steps += 1;
        let found = match (&self.client.states[client], &self.server.states[server]) {
            (_, &SearchState::Aside { layer, next }) => {
                self.below(layer, agreed, wanted, |search, wanted| search.from(client, next, agreed, wanted))
            }
            (&SearchState::Aside { next, .. }, _) => self.from(next, server, agreed, wanted).then_some(()),
            (SearchState::Choice { ways }, SearchState::Choice { .. }) if self.client_first => ways
                .iter()
                .find(|way| self.from(way.start, server, agreed, wanted))
                .map(|way| way.picks.iter().for_each(|&(number, pick)| self.client_picks[number] = pick)),
            (_, SearchState::Choice { ways }) => ways
                .iter()
                .find(|way| self.from(client, way.start, agreed, wanted))
                .map(|way| way.picks.iter().for_each(|&(number, pick)| self.server_picks[number] = pick)),
            (SearchState::Choice { ways }, _) => ways
                .iter()
                .find(|way| self.from(way.start, server, agreed, wanted))
                .map(|way| way.picks.iter().for_each(|&(number, pick)| self.client_picks[number] = pick)),
            (
                SearchState::Layer { layer: theirs, next: their_next },
                SearchState::Layer { layer: ours, next: our_next },
            ) => match ours.capability().compare(&theirs.capability, theirs.version, &theirs.encoding) {
                Ok(()) => match ours.missing_reason() {
                    None => self.below(ours, agreed + 1, wanted, |search, wanted| {
                        search.from(*their_next, *our_next, agreed + 1, wanted)
                    }),
                    Some(reason) => {
                        self.reject(agreed, || format!("the server can't run {}: {reason}", ours.name()))
                    }
                },
                Err(mismatch) => self.reject(agreed, || mismatch_of(theirs, ours, &mismatch)),
            },
            (SearchState::End, SearchState::End) => {
                let missing = wanted.without(self.requirements.transport);
                match missing.is_empty() {
                    true => Some(()),
                    false => self.reject_for(agreed, missing, |missing| format!("would not be {missing}")),
                }
            }
            (SearchState::Layer { layer, .. }, SearchState::End) => self.reject(agreed, || {
                format!("client's {} has no counterpart on the server", layer.short_name())
            }),
            (SearchState::End, SearchState::Layer { layer, .. }) => {
                self.reject(agreed, || format!("server's {} has no counterpart on the client", layer.name()))
            }
        };
        if found.is_none() {
            self.dead_ends.insert((client, server, wanted));
        }
        found.is_some()
    }

    /// Goes on below a layer of the server's, with the guarantees that are then wanted.
    fn below(
        &mut self,
        layer: &LayerInfo,
        agreed: usize,
        wanted: Set,
        go_on: impl FnOnce(&mut Self, Set) -> bool,
    ) -> Option<()> {
        let Some(below) = layer.wanted_below(wanted) else {
            let withdrawn = wanted.common(layer.effects().withdraws());
            let name = layer.name();
            return self.reject_for(agreed, withdrawn, |_| format!("{name} withdraws what is below it"));
        };
        self.demands.push((layer.name(), layer.needs()));
        let found = go_on(self, below);
        self.demands.pop();
        found.then_some(())
    }

    /// Rejects a stack without the guarantees that are `missing`. The reason names the layer that needs them.
    fn reject_for(&mut self, agreed: usize, missing: Set, why: impl FnOnce(Set) -> String) -> Option<()> {
        // The lowest layer that asks for it: no other below it gives it.
        let asks = |&&(_, needs): &&(&'static str, Set)| !needs.common(missing).is_empty();
        let demand = self.demands.iter().rev().find(asks).copied();
        let floor = self.requirements.floor;
        self.reject(agreed, || match demand {
            Some((name, needs)) => {
                let missing = needs.common(missing);
                format!("what is below the server's {name} has to be {missing}, and {}", why(missing))
            }
            None => format!("the server's stack has to be {floor}, and {}", why(missing)),
        })
    }

    fn reject(&mut self, agreed: usize, reason: impl FnOnce() -> String) -> Option<()> {
        let (most, closest) = &mut self.furthest;
        if agreed > *most {
            *most = agreed;
            closest.clear();
        }
        let is_close = agreed == *most && closest.len() < REASONS;
        if !is_close && self.reasons.len() >= REASONS {
            return None;
        }
        let reason = reason();
        if is_close && !closest.contains(&reason) {
            closest.push(reason.clone());
        }
        if self.reasons.len() < REASONS {
            self.reasons.push(reason);
        }
        None
    }
}

/// Returns the reason why two layers do not go together, with the names that the authors of the stacks wrote: the
/// names of capabilities, by which layers are compared, are of no use to them.
fn mismatch_of(theirs: &OfferedLayer, ours: &LayerInfo, mismatch: &Mismatch) -> String {
    let (their_name, our_name) = (theirs.short_name(), ours.name());
    if theirs.capability == ours.capability().id() {
        return format!("client's {their_name} and server's {our_name}: {mismatch}");
    }
    match their_name == our_name {
        true => format!("the client has {} where the server has {}", theirs.name, ours.full_name()),
        false => format!("the client has {their_name} where the server has {our_name}"),
    }
}

#[cfg(test)]
mod tests;
