//! No policy.

use crate::{Binding, Burst, Engine, EngineKind, Parts, Settings, Unsuitable};
use std::time::Duration;

/// `null`: lets everything pass. It shows what an engine costs.
#[derive(Debug, Clone, Copy)]
pub struct Null;

impl EngineKind for Null {
    fn name(&self) -> &str {
        "null"
    }

    fn make(&self, settings: Settings, _: &Binding) -> Result<Box<dyn Engine>, Unsuitable> {
        settings.finish()?;
        Ok(Box::new(Self))
    }

    fn restore(&self, _: &mut Parts, _: &Binding) -> Result<Box<dyn Engine>, Unsuitable> {
        Ok(Box::new(Self))
    }
}

impl Engine for Null {
    fn requests(&mut self, _: &mut Burst, _: Duration) {}

    fn responses(&mut self, _: &mut Burst, _: Duration) {}

    fn configure(&mut self, settings: Settings) -> Result<(), Unsuitable> {
        settings.finish()
    }

    fn take_apart(self: Box<Self>) -> Parts {
        Parts::default()
    }
}
