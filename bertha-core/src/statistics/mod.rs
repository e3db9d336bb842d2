//! Statistics of a connection, layer by layer.
//!
//! A layer that has something to tell implements [`Observed`], and registers with
//! [`ConnectContext::observes`](crate::ConnectContext::observes). The layer is asked only when an application
//! asks for the [`Statistics`] of a connection, so a connection that nobody looks at pays for its counters
//! alone.

mod drops;
mod registry;
mod value;

pub use drops::{DropCounter, Dropped, Drops};
pub use registry::LayerRegistry;
use std::any::Any;
use std::fmt;
pub use value::Value;

/// The state of one layer at one moment: a struct that the layer documents, with public fields.
pub trait LayerStatistics: Any + fmt::Debug + Send + Sync {
    /// Returns the fields by name, in the order in which a reader looks for them. Names are in snake case,
    /// without a unit: a [`Value`] has its unit.
    fn values(&self) -> Vec<(&'static str, Value)>;
}

/// A layer that tells its state while its connection is in use.
///
/// ```
/// use bertha_core::statistics::{LayerStatistics, Observed, Statistics, Value};
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
///
/// /// The state of a Chunnel, which its connection shares with the registry.
/// #[derive(Default)]
/// struct CountedState {
///     sent: AtomicU64,
/// }
///
/// #[derive(Debug)]
/// pub struct CountedStatistics {
///     /// Number of messages sent.
///     pub sent: u64,
/// }
///
/// impl LayerStatistics for CountedStatistics {
///     fn values(&self) -> Vec<(&'static str, Value)> {
///         vec![("sent", Value::Total(self.sent))]
///     }
/// }
///
/// impl Observed for CountedState {
///     fn observe(&self, into: &mut Statistics) {
///         into.add("Counted", CountedStatistics { sent: self.sent.load(Relaxed) });
///     }
/// }
///
/// // In `connect_wrap`: `context.observes(&state)`, where `state` is an `Arc<CountedState>`.
/// let mut statistics = Statistics::default();
/// CountedState::default().observe(&mut statistics);
/// assert_eq!(statistics.get::<CountedStatistics>().map(|counted| counted.sent), Some(0));
/// assert_eq!(statistics.to_string(), "Counted: sent 0");
/// ```
pub trait Observed: Send + Sync + 'static {
    /// Adds the state at this moment. The method may take locks of the layer, for a short time, and does
    /// not wait.
    fn observe(&self, into: &mut Statistics);
}

/// The statistics of a connection at one moment, by layer.
///
/// Displayed, it has a line for each layer, from the top of the stack to the datapath.
#[derive(Debug, Default)]
pub struct Statistics {
    /// The layers from the bottom up, in the order in which they were built.
    layers: Vec<Layer>,
}

/// The statistics of one layer.
#[derive(Debug)]
pub struct Layer {
    name: &'static str,
    /// The object of which this is the state, if several connections share it.
    shared: Option<usize>,
    state: Option<Box<dyn LayerStatistics>>,
    drops: Vec<Dropped>,
}

impl Statistics {
    /// Adds a layer above the layers that were added before.
    pub fn add(&mut self, name: &'static str, state: impl LayerStatistics) {
        self.layers.push(Layer { name, shared: None, state: Some(Box::new(state)), drops: Vec::new() });
    }

    /// Adds a layer whose state several connections share, such as that of a socket or a port. `object` tells
    /// one such state from another: it is the address of what the connections share.
    pub fn add_shared<T: ?Sized>(&mut self, name: &'static str, object: &T, state: impl LayerStatistics) {
        let shared = Some(std::ptr::from_ref(object).addr());
        self.layers.push(Layer { name, shared, state: Some(Box::new(state)), drops: Vec::new() });
    }

    /// Adds drops to the layers of their names. A layer that has no other statistics is added.
    pub fn add_drops(&mut self, drops: &Drops) {
        for &dropped in drops.iter() {
            let layer = self.layers.iter_mut().find(|layer| layer.name == dropped.layer);
            match layer {
                Some(layer) => layer.drops.push(dropped),
                None => self.layers.push(Layer {
                    name: dropped.layer,
                    shared: None,
                    state: None,
                    drops: vec![dropped],
                }),
            }
        }
    }

    /// Iterates over the layers, from the top of the stack down.
    pub fn layers(&self) -> impl Iterator<Item = &Layer> {
        self.layers.iter().rev()
    }

    /// Returns the statistics of the topmost layer that tells a `T`, such as `ReliableStatistics`.
    pub fn get<T: LayerStatistics>(&self) -> Option<&T> {
        self.layers().find_map(Layer::get)
    }
}

impl Layer {
    /// Returns the name of the Chunnel, or of the part of the connection below the stack.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the number of the object of which this is the state, if several connections share it: sums over
    /// connections count each such object once. Numbers may be used again after the object has gone.
    pub fn shared(&self) -> Option<usize> {
        self.shared
    }

    /// Returns the state, if the layer tells a `T`.
    pub fn get<T: LayerStatistics>(&self) -> Option<&T> {
        let state: &dyn Any = self.state.as_deref()?;
        state.downcast_ref()
    }

    /// Returns the state by name. A layer that counts its drops alone has no values.
    pub fn values(&self) -> Vec<(&'static str, Value)> {
        self.state.as_deref().map(LayerStatistics::values).unwrap_or_default()
    }

    /// Iterates over the messages that the layer has dropped, by reason. A reason that never occurred is
    /// listed with zero.
    pub fn drops(&self) -> impl Iterator<Item = &Dropped> {
        self.drops.iter()
    }
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for layer in self.layers() {
            write!(f, "{separator}{layer}")?;
            separator = "\n";
        }
        Ok(())
    }
}

/// Shows the layer in one line: its state, and the drops that have occurred.
impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        let mut separator = ": ";
        for (name, value) in self.values() {
            write!(f, "{separator}{} {value}", name.replace('_', " "))?;
            separator = ", ";
        }
        for dropped in self.drops.iter().filter(|dropped| dropped.messages > 0) {
            write!(f, "{separator}dropped {} {}", dropped.messages, dropped.reason)?;
            separator = ", ";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Sent(u64);

    impl LayerStatistics for Sent {
        fn values(&self) -> Vec<(&'static str, Value)> {
            vec![("packets_sent", Value::Total(self.0)), ("window", Value::Bytes(7))]
        }
    }

    #[derive(Debug)]
    struct Other;

    impl LayerStatistics for Other {
        fn values(&self) -> Vec<(&'static str, Value)> {
            Vec::new()
        }
    }

    #[test]
    fn layers_stand_from_the_top_down_each_with_its_drops() {
        let mut drops = Drops::default();
        drops.add("Lower", "damaged", 2);
        drops.add("Lower", "late", 0);
        drops.add("Alone", "late", 1);
        let mut statistics = Statistics::default();
        statistics.add("Lower", Sent(1));
        statistics.add("Upper", Sent(2));
        statistics.add_drops(&drops);
        let socket = 7;
        let mut of_socket = Statistics::default();
        of_socket.add_shared("Socket", &socket, Sent(1));
        let address = std::ptr::from_ref(&socket).addr();
        assert!(of_socket.layers().all(|layer| layer.shared() == Some(address)));
        assert!(statistics.layers().all(|layer| layer.shared().is_none()));
        assert_eq!(
            statistics.to_string(),
            "Alone: dropped 1 late\n\
             Upper: packets sent 2, window 7 bytes\n\
             Lower: packets sent 1, window 7 bytes, dropped 2 damaged"
        );
        assert_eq!(statistics.get::<Sent>(), Some(&Sent(2)), "the topmost");
        assert!(statistics.get::<Other>().is_none());
        let lower = statistics.layers().last().unwrap();
        assert_eq!((lower.name(), lower.get(), lower.drops().count()), ("Lower", Some(&Sent(1)), 2));
    }
}
