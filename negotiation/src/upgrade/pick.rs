//! A request for other alternatives of a connection's stack.

use bertha_core::guarantee::Set;
use bertha_core::{Error, ErrorKind, Node, Preference};
use std::collections::BTreeMap;

/// The alternatives that a connection shall use.
///
/// The `select!`s of a stack are counted from 0 as they are written, from top to bottom. The `select!`s
/// inside an alternative follow right after the `select!` that contains it. The alternatives of each
/// `select!` are counted from 0 as well. Choices that the pick does not name may stay or change, as both ends
/// require.
///
/// ```
/// use bertha_negotiation::Pick;
/// // Of `make_stack!(select!(Fast, Careful), Serialize::<T>::new())` the second alternative.
/// let careful = Pick::alternative(1);
/// // Of a stack with more choices, the first alternative of the first choice and the third of the second.
/// let both = Pick::alternative(0).and(1, 2);
/// # let _ = (careful, both);
/// ```
///
/// The new stack keeps the guarantees of the stack in use, except the guarantees that the
/// [settings](crate::Settings::may_lose) of this end may lose, and the guarantees that the pick
/// [names](Self::losing). The other end has settings of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pick {
    /// The named alternative of each named `select!`.
    wanted: BTreeMap<usize, usize>,
    losing: Set,
}

impl Pick {
    /// Picks the alternative with this number of the first `select!`.
    pub fn alternative(number: usize) -> Self {
        Self { wanted: BTreeMap::from([(0, number)]), losing: Set::NONE }
    }

    /// Also picks the alternative with the number `alternative` of the `select!` with the number `select`.
    #[must_use]
    pub fn and(mut self, select: usize, alternative: usize) -> Self {
        self.wanted.insert(select, alternative);
        self
    }

    /// Allows the change to lose these guarantees, if the stack in use gives them and the new stack does not.
    ///
    /// ```
    /// use bertha_core::guarantee::{Encrypted, Set};
    /// use bertha_negotiation::Pick;
    /// let in_the_clear = Pick::alternative(1).losing(Set::of::<Encrypted>());
    /// # let _ = in_the_clear;
    /// ```
    #[must_use]
    pub fn losing(mut self, guarantees: Set) -> Self {
        self.losing = self.losing | guarantees;
        self
    }

    /// Returns the guarantees that the change may lose.
    pub(crate) fn may_lose(&self) -> Set {
        self.losing
    }

    /// Returns the stack with these alternatives preferred, and elsewhere the alternatives in use.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if there are no such alternatives.
    pub(crate) fn preferred(&self, nodes: &[Node], picks: &[u8]) -> Result<Vec<Node>, Error> {
        let mut nodes = nodes.to_vec();
        let mut visit = Visit { picks: picks.iter(), selects: 0 };
        visit.all(&mut nodes, &mut |select, prefer, in_use, is_last| {
            let wanted = self.wanted.get(&select.0).copied().map(|it| it.saturating_sub(select.1));
            *prefer = match wanted {
                Some(0) => 0,
                Some(beyond) if is_last && beyond > 1 => return Err(self.no_such(select.0)),
                Some(_) => 1,
                None => in_use,
            }
            .into();
            Ok(())
        })?;
        match self.wanted.keys().find(|select| **select >= visit.selects) {
            Some(select) => Err(self.no_such(*select)),
            None => Ok(nodes),
        }
    }

    fn no_such(&self, select: usize) -> Error {
        let alternative = self.wanted.get(&select).copied().unwrap_or_default();
        let what =
            format!("the stack has no alternative {alternative} of a `select!` {select}, counted from 0");
        Error::new(ErrorKind::Invalid, what).at("negotiation")
    }

    /// Returns true if these picks are the requested alternatives.
    pub(crate) fn is_met(&self, nodes: &[Node], picks: &[u8]) -> bool {
        let mut in_use = BTreeMap::new();
        let mut visit = Visit { picks: picks.iter(), selects: 0 };
        let visited = visit.all(&mut nodes.to_vec(), &mut |(select, depth), _, pick, _| {
            // In a choice of three alternatives the later picks count only if the earlier picks lead to them.
            if in_use.get(&select).copied().unwrap_or(0) == depth {
                in_use.insert(select, depth + usize::from(pick > 0));
            }
            Ok(())
        });
        visited.is_ok() && self.wanted.iter().all(|(select, number)| in_use.get(select) == Some(number))
    }
}

/// A walk over all choices, with the picks in use. A choice of three alternatives is a choice within a
/// choice.
struct Visit<'p> {
    picks: std::slice::Iter<'p, u8>,
    /// Number of `select!`s seen so far.
    selects: usize,
}

/// The number of a `select!`, and the number of its alternatives before this choice.
type Place = (usize, usize);

impl Visit<'_> {
    fn all<F>(&mut self, nodes: &mut [Node], act: &mut F) -> Result<(), Error>
    where
        F: FnMut(Place, &mut Preference, u8, bool) -> Result<(), Error>,
    {
        for node in nodes {
            if let Node::Select { .. } = node {
                let number = self.selects;
                self.selects += 1;
                self.choice(node, (number, 0), act)?;
            }
        }
        Ok(())
    }

    fn choice<F>(&mut self, node: &mut Node, place: Place, act: &mut F) -> Result<(), Error>
    where
        F: FnMut(Place, &mut Preference, u8, bool) -> Result<(), Error>,
    {
        let Node::Select { branches: [first, second], prefer } = node else { return Ok(()) };
        let pick = self.picks.next().copied().unwrap_or_default();
        let goes_on = matches!(&second[..], [Node::Select { .. }]);
        act(place, prefer, pick, !goes_on)?;
        self.all(first, act)?;
        match &mut second[..] {
            [nested @ Node::Select { .. }] => self.choice(nested, (place.0, place.1 + 1), act),
            branch => self.all(branch, act),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;
    use bertha_core::{LayerInfo, Situation};

    fn layer(name: &'static str) -> Node {
        Node::Layer(LayerInfo::plain(name, 1))
    }

    fn select(first: Vec<Node>, second: Vec<Node>) -> Node {
        Node::Select { branches: [first, second], prefer: 0.into() }
    }

    /// Returns `select!(A, B, C)` over `select!(D, make_stack!(select!(E, F)))`, whose inner `select!` reads
    /// as a choice of three alternatives.
    fn nodes() -> Vec<Node> {
        let three = select(vec![layer("A")], vec![select(vec![layer("B")], vec![layer("C")])]);
        let inner = select(vec![layer("E")], vec![layer("F")]);
        vec![three, select(vec![layer("D"), inner], vec![layer("G")])]
    }

    fn prefers(nodes: &[Node]) -> Vec<u8> {
        nodes
            .iter()
            .flat_map(|node| match node {
                Node::Select { branches: [first, second], prefer } => {
                    [vec![prefer.in_situation(&Situation::TWO_ENDS)], prefers(first), prefers(second)]
                        .concat()
                }
                Node::Layer(_) => Vec::new(),
            })
            .collect()
    }

    #[test]
    fn what_is_asked_for_is_preferred_and_the_rest_stays() {
        let in_use = [1, 1, 0, 1];
        assert_eq!(prefers(&Pick::alternative(0).preferred(&nodes(), &in_use).unwrap()), [0, 0, 0, 1]);
        assert_eq!(prefers(&Pick::alternative(1).preferred(&nodes(), &in_use).unwrap()), [1, 0, 0, 1]);
        assert_eq!(
            prefers(&Pick::alternative(2).and(1, 1).preferred(&nodes(), &in_use).unwrap()),
            [1, 1, 1, 1]
        );
        assert_eq!(
            prefers(&Pick::alternative(2).and(2, 0).preferred(&nodes(), &in_use).unwrap()),
            [1, 1, 0, 0]
        );
    }

    #[test]
    fn what_there_is_not_is_refused() {
        for pick in [Pick::alternative(3), Pick::alternative(0).and(3, 0), Pick::alternative(0).and(1, 2)] {
            let error = pick.preferred(&nodes(), &[0; 4]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{pick:?}");
        }
    }

    #[test]
    fn picks_in_use_are_recognised() {
        for (picks, alternative) in
            [([0, 0, 0, 0], 0), ([0, 1, 0, 0], 0), ([1, 0, 0, 0], 1), ([1, 1, 0, 0], 2)]
        {
            for number in 0..3 {
                let is_met = Pick::alternative(number).is_met(&nodes(), &picks);
                assert_eq!(is_met, number == alternative, "{picks:?} {number}");
            }
        }
        assert!(Pick::alternative(0).and(1, 1).and(2, 0).is_met(&nodes(), &[0, 0, 1, 0]));
    }
}
