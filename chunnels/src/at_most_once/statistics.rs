//! The messages that are remembered, for people who ask what a connection does.

use crate::redelivery::Redelivery;
use bertha_core::Statistics;
use bertha_core::statistics::{LayerStatistics, Observed, Value};

/// The messages of an end of [`AtMostOnce`](super::AtMostOnce) over a queue, or of
/// [`AtMostOnceByPublisher`](super::AtMostOnceByPublisher), whose connections of one value are told together. The
/// dropped duplicates are among the drops of the layer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AtMostOnceStatistics {
    /// Publishers that are remembered; zero for [`AtMostOnce`](super::AtMostOnce), which has one.
    pub publishers: u64,
    /// Messages that the application has received, and has neither done nor dropped.
    pub held: u64,
    /// Messages that the application did not finish, and that are expected again.
    pub returned: u64,
}

impl LayerStatistics for AtMostOnceStatistics {
    fn values(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("publishers", Value::Number(self.publishers)),
            ("held", Value::Number(self.held)),
            ("returned", Value::Number(self.returned)),
        ]
    }
}

/// The memory of an end.
pub(super) struct Remembered<N, P> {
    pub(super) name: &'static str,
    pub(super) redelivery: Redelivery<N>,
    /// Returns the number of publishers that are remembered.
    pub(super) publishers: P,
}

impl<N, P> Observed for Remembered<N, P>
where
    N: Copy + Ord + Send + 'static,
    P: Fn() -> usize + Send + Sync + 'static,
{
    fn observe(&self, into: &mut Statistics) {
        let [held, returned] = self.redelivery.counts().unwrap_or_default().map(|count| count as u64);
        let publishers = (self.publishers)() as u64;
        into.add(self.name, AtMostOnceStatistics { publishers, held, returned });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bertha_core::{Buf, Properties};

    #[test]
    fn held_and_returned_messages_are_told() {
        let mut properties = Properties::default();
        properties.receipts = true;
        let redelivery = Redelivery::<u64>::new(properties);
        let remembered = Remembered { name: "AtMostOnce", redelivery: redelivery.clone(), publishers: || 3 };
        let told = || {
            let mut statistics = Statistics::default();
            remembered.observe(&mut statistics);
            statistics.to_string()
        };
        assert_eq!(told(), "AtMostOnce: publishers 3, held 0, returned 0");
        let message = || Buf::from_receipt(vec![7], |_, _| ()).unwrap();
        let held = [1, 2, 3].map(|number| redelivery.first(number, message()));
        assert_eq!(told(), "AtMostOnce: publishers 3, held 3, returned 0");
        let [done, dropped, _held] = held;
        done.done();
        drop(dropped);
        assert_eq!(told(), "AtMostOnce: publishers 3, held 1, returned 1");
    }
}
