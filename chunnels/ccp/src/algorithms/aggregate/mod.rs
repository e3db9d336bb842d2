//! Several flows under one control (thesis 4.7.3).

mod grouping;
mod shared_window;

pub use grouping::{Grouping, GroupingKey};
pub use shared_window::{SharedWindow, SharedWindowAggregate};

use portus::ipc::Ipc;
use portus::{CongAlg, Datapath, DatapathInfo, Flow, Report};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::rc::{Rc, Weak};

/// An algorithm that controls flows together, which [`Aggregated`] runs.
///
/// A new flow whose key equals the key of an aggregate with flows is added to that aggregate by
/// [`Aggregate::create_subflow`]; for any other flow, [`create`](Self::create) begins an aggregate.
pub trait AggregateAlg<I: Ipc>: 'static {
    /// The key, which is equal for the flows of an aggregate.
    type Key: Clone + Eq + Hash + 'static;

    /// The state of an aggregate.
    type Aggregate: Aggregate<I> + 'static;

    /// Returns the name by which datapaths request the algorithm.
    fn name() -> &'static str;

    /// Returns the programs, by their names, as in [`CongAlg::datapath_programs`].
    fn datapath_programs(&self) -> HashMap<&'static str, String>;

    /// Returns the key of a new flow, from its addresses and ports.
    fn aggregate_by(&self, flow: &DatapathInfo) -> Self::Key;

    /// Begins an aggregate with its first flow.
    fn create(&self, flow: Subflow<I>) -> Self::Aggregate;
}

/// Flows that are controlled together.
pub trait Aggregate<I: Ipc> {
    /// Adds a flow.
    fn create_subflow(&mut self, flow: Subflow<I>);

    /// Handles a report of the flow of this number.
    fn on_report(&mut self, number: u64, report: Report);

    /// Removes the flow of this number. When no flow is left, the aggregate is dropped.
    fn close_subflow(&mut self, number: u64);
}

/// A new flow of an aggregate.
pub struct Subflow<I: Ipc> {
    /// The number of the flow, which is unique among all flows of all datapaths.
    pub number: u64,
    /// The connection to the flow.
    pub datapath: Datapath<I>,
    /// The flow's addresses, ports and initial values.
    pub info: DatapathInfo,
}

impl<I: Ipc> fmt::Debug for Subflow<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, info, .. } = self;
        f.debug_struct("Subflow").field("number", number).field("info", info).finish_non_exhaustive()
    }
}

/// An [`AggregateAlg`] as an algorithm of portus.
///
/// Its aggregates belong to the thread that runs it, since each aggregate reaches all of its flows at once.
/// So the value is made on that thread:
///
/// ```no_run
/// use bertha_ccp::algorithms::{Aggregated, Grouping, SharedWindow};
/// use bertha_ccp::{Ccp, Pace};
/// use portus::RunBuilder;
/// use portus::ipc::BackendBuilder;
///
/// let (ccp, end) = Ccp::in_process(Pace::Free);
/// std::thread::spawn(move || {
///     let algorithm = Aggregated::new(SharedWindow::cubic(Grouping::Host));
///     RunBuilder::new(BackendBuilder { sock: end }).default_alg(algorithm).run()
/// });
/// ```
pub struct Aggregated<A: AggregateAlg<I>, I: Ipc> {
    algorithm: A,
    aggregates: Table<A, I>,
    last: Cell<u64>,
}

type Table<A, I> = Rc<RefCell<HashMap<<A as AggregateAlg<I>>::Key, Weak<State<A, I>>>>>;
type State<A, I> = RefCell<<A as AggregateAlg<I>>::Aggregate>;

impl<A: AggregateAlg<I>, I: Ipc> Aggregated<A, I> {
    /// Makes an algorithm without flows.
    pub fn new(algorithm: A) -> Self {
        Self { algorithm, aggregates: Rc::default(), last: Cell::new(0) }
    }
}

impl<A: AggregateAlg<I>, I: Ipc> CongAlg<I> for Aggregated<A, I> {
    type Flow = AggregatedFlow<A, I>;

    fn name() -> &'static str {
        A::name()
    }

    fn datapath_programs(&self) -> HashMap<&'static str, String> {
        self.algorithm.datapath_programs()
    }

    fn new_flow(&self, datapath: Datapath<I>, info: DatapathInfo) -> AggregatedFlow<A, I> {
        let key = self.algorithm.aggregate_by(&info);
        let number = self.last.get() + 1;
        self.last.set(number);
        let flow = Subflow { number, datapath, info };
        let known = self.aggregates.borrow().get(&key).and_then(Weak::upgrade);
        let aggregate = match known {
            Some(aggregate) => {
                aggregate.borrow_mut().create_subflow(flow);
                aggregate
            }
            None => {
                let aggregate = Rc::new(RefCell::new(self.algorithm.create(flow)));
                self.aggregates.borrow_mut().insert(key.clone(), Rc::downgrade(&aggregate));
                aggregate
            }
        };
        AggregatedFlow { number, key, aggregate, aggregates: self.aggregates.clone() }
    }
}

impl<A: AggregateAlg<I>, I: Ipc> fmt::Debug for Aggregated<A, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Aggregated")
            .field("aggregates", &self.aggregates.borrow().len())
            .finish_non_exhaustive()
    }
}

/// A flow of [`Aggregated`], which leaves its aggregate when it is dropped.
pub struct AggregatedFlow<A: AggregateAlg<I>, I: Ipc> {
    number: u64,
    key: A::Key,
    aggregate: Rc<State<A, I>>,
    aggregates: Table<A, I>,
}

impl<A: AggregateAlg<I>, I: Ipc> Flow for AggregatedFlow<A, I> {
    fn on_report(&mut self, _: u32, report: Report) {
        self.aggregate.borrow_mut().on_report(self.number, report);
    }
}

impl<A: AggregateAlg<I>, I: Ipc> Drop for AggregatedFlow<A, I> {
    fn drop(&mut self) {
        self.aggregate.borrow_mut().close_subflow(self.number);
        if Rc::strong_count(&self.aggregate) == 1 {
            self.aggregates.borrow_mut().remove(&self.key);
        }
    }
}

impl<A: AggregateAlg<I>, I: Ipc> fmt::Debug for AggregatedFlow<A, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AggregatedFlow").field("number", &self.number).finish_non_exhaustive()
    }
}
