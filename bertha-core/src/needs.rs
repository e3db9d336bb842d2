//! The check that each Chunnel of a stack has the guarantees that it needs below it.

use crate::guarantee::{AtMostOnce, Encrypted, Ordered, Reliable, Set};
use crate::guaranteed::withdrawing;
use crate::{Error, ErrorKind, Explanation, LayerInfo, Node};

/// Checks for each of `layers` that the layers below it, over a datapath with the guarantees `datapath`, meet its
/// [needs](LayerInfo::needs). `layers` are top first and without alternatives.
///
/// `connect`, `listen` and `wrap` call this function before they send anything, and any other driver of
/// stacks should call it too.
///
/// # Errors
/// [`Invalid`](ErrorKind::Invalid), with the lowest Chunnel that has an unmet need, the missing guarantee,
/// and the layers below.
pub fn check_needs(layers: &[Node], datapath: Set) -> Result<(), Error> {
    match lowest_unmet(layers, datapath) {
        Some((at, layer, missing)) => Err(unmet(layer, missing, &layers[at + 1..], datapath)),
        None => Ok(()),
    }
}

/// Returns the name of the lowest Chunnel with an unmet need, and the guarantees that it lacks.
#[doc(hidden)]
pub fn unmet_need(layers: &[Node], datapath: Set) -> Option<(&'static str, Set)> {
    lowest_unmet(layers, datapath).map(|(_, layer, missing)| (layer.name(), missing))
}

/// Returns the place of the lowest layer with an unmet need, the layer, and the guarantees that it lacks.
fn lowest_unmet(layers: &[Node], datapath: Set) -> Option<(usize, &LayerInfo, Set)> {
    let mut guaranteed = datapath;
    for (at, node) in layers.iter().enumerate().rev() {
        let Node::Layer(layer) = node else { continue };
        let missing = layer.needs().without(guaranteed);
        if !missing.is_empty() {
            return Some((at, layer, missing));
        }
        guaranteed = layer.effects().above(guaranteed);
    }
    None
}

fn unmet(layer: &LayerInfo, missing: Set, below: &[Node], datapath: Set) -> Error {
    let floor = format!("a datapath that guarantees {datapath}");
    let standing = match below {
        [] => floor,
        layers => format!("[{}] over {floor}", Explanation::of(layers)),
    };
    let way_out = match withdrawing(below, missing, datapath) {
        Some(node) => {
            format!("{node} withdraws what is below it; put a Chunnel that is {missing} above {node}")
        }
        None => {
            let (chunnel, other) = ways_out(missing);
            format!("put a Chunnel that is {missing} below it{chunnel}, or use another datapath{other}")
        }
    };
    let what = format!("what is below it has to be {missing}, and it stands on {standing}; {way_out}");
    Error::new(ErrorKind::Invalid, what).at(layer.name())
}

/// Returns examples of Chunnels and a datapath that meet the need. Over a queue, a Chunnel keeps order at one receiver
/// alone. `Ordered` needs `Reliable` below it over a transport without guarantees.
fn ways_out(missing: Set) -> (&'static str, &'static str) {
    let lacks = |set: Set| !missing.common(set).is_empty();
    if lacks(Set::of::<Ordered>()) && lacks(Set::of::<Reliable>()) {
        (" (`Ordered::new(), Reliable::new()` in this order)", " (TCP)")
    } else if lacks(Set::of::<Ordered>()) {
        (" (Ordered or OrderedByKey, if there is a single receiver)", " (an ordered queue)")
    } else if lacks(Set::of::<Reliable>()) {
        (" (Reliable)", " (TCP)")
    } else if lacks(Set::of::<AtMostOnce>()) {
        (" (AtMostOnce)", "")
    } else if lacks(Set::of::<Encrypted>()) {
        (" (Tls, Quic or Noise)", "")
    } else {
        ("", "")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;
    use crate::guarantee::Reliable;
    use crate::{Describe, Identity, make_stack};

    #[derive(Identity)]
    #[chunnel(guarantees(Reliable))]
    struct Repeat;

    #[derive(Identity)]
    struct Pack;

    #[derive(Identity)]
    #[chunnel(guarantees(Ordered), needs = Self::needs)]
    struct Sort {
        waits: bool,
    }

    impl Sort {
        fn needs(&self) -> Set {
            if self.waits { Set::of::<Reliable>() } else { Set::NONE }
        }
    }

    #[derive(Identity)]
    #[chunnel(needs(Ordered, AtMostOnce))]
    struct Count;

    const WAITS: Sort = Sort { waits: true };

    #[test]
    fn what_stands_between_passes_it_on_and_what_stands_above_does_not_help() {
        assert!(check_needs(&make_stack!(WAITS, Pack, Repeat, Pack).nodes(), Set::NONE).is_ok());
        let error = check_needs(&make_stack!(Repeat, WAITS, Pack).nodes(), Set::NONE).unwrap_err();
        assert_eq!((error.kind(), error.chunnel()), (ErrorKind::Invalid, Some("Sort")));
        assert_eq!(
            error.context(),
            "what is below it has to be reliable, and it stands on [Pack] over a datapath that guarantees nothing; \
             put a Chunnel that is reliable below it (Reliable), or use another datapath (TCP)"
        );
    }

    #[test]
    fn the_datapath_counts_and_a_chunnel_is_not_below_itself() {
        assert!(check_needs(&WAITS.nodes(), Set::of::<Reliable>()).is_ok());
        let error = check_needs(&WAITS.nodes(), Set::of::<Ordered>()).unwrap_err();
        assert!(error.context().contains("it stands on a datapath that guarantees ordered;"), "{error}");
    }

    #[test]
    fn only_what_is_missing_is_named_and_needs_follow_the_value() {
        assert!(check_needs(&Sort { waits: false }.nodes(), Set::NONE).is_ok());
        let error = check_needs(&make_stack!(Count, Sort { waits: false }).nodes(), Set::NONE).unwrap_err();
        assert!(error.context().starts_with("what is below it has to be at-most-once, and"), "{error}");
    }

    #[derive(Identity)]
    #[chunnel(withdraws(Reliable))]
    struct Sample;

    #[test]
    fn what_is_withdrawn_is_not_there_and_who_withdraws_it_is_named() {
        let error = check_needs(&make_stack!(WAITS, Sample, Repeat).nodes(), Set::NONE).unwrap_err();
        assert_eq!((error.kind(), error.chunnel()), (ErrorKind::Invalid, Some("Sort")));
        assert_eq!(
            error.context(),
            "what is below it has to be reliable, and it stands on [Sample / Repeat] over a datapath that guarantees nothing; \
             Sample withdraws what is below it; put a Chunnel that is reliable above Sample"
        );
        assert!(check_needs(&make_stack!(WAITS, Sample).nodes(), Set::of::<Reliable>()).is_err());
        assert!(check_needs(&make_stack!(WAITS, Repeat, Sample).nodes(), Set::NONE).is_ok());
    }

    #[test]
    fn a_chunnel_for_streams_over_datagrams_is_told_about_order_and_repetition() {
        #[derive(Identity)]
        #[chunnel(needs(Reliable, Ordered))]
        struct Tls;

        let error = check_needs(&Tls.nodes(), Set::NONE).unwrap_err();
        assert_eq!(
            error.context(),
            "what is below it has to be reliable, ordered, and it stands on a datapath that guarantees nothing; \
             put a Chunnel that is reliable, ordered below it (`Ordered::new(), Reliable::new()` in this order), \
             or use another datapath (TCP)"
        );
    }

    #[test]
    fn both_ways_to_order_are_named() {
        let error = check_needs(&Count.nodes(), Set::NONE).unwrap_err();
        assert!(
            error.context().ends_with(
                "put a Chunnel that is ordered, at-most-once below it (Ordered or OrderedByKey, if there is a single receiver), \
                 or use another datapath (an ordered queue)"
            ),
            "{error}"
        );
    }
}
