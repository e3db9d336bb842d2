//! A pass as an application gives it.

use std::marker::PhantomData;

/// A pass as it stands in [`optimize!`](crate::optimize), with the guarantees that the application accepts to lose.
#[derive(Debug)]
pub struct Given<P, Accepts> {
    pass: P,
    accepts: PhantomData<Accepts>,
}

impl<P, Accepts> Given<P, Accepts> {
    /// Makes a pass for which the application accepts the loss of the guarantees `Accepts`.
    pub const fn new(pass: P) -> Self {
        Self { pass, accepts: PhantomData }
    }

    pub(super) fn pass(&self) -> &P {
        &self.pass
    }
}
