//! Slots and calls of a changing connection in every interleaving of a few calls and a change. `scripts/loom`
//! runs them.

mod calls;
mod slots;
mod stack;

/// Runs a model in all orders of the steps of its threads, with at most this number of preemptions.
fn explore(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}
