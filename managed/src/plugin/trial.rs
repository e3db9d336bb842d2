//! The trial of a library, by work that comes to nothing.

use super::Plugin;
use crate::{Binding, Burst, EngineKind, Settings};
use bertha_schemas::{Plan, Schema};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

impl Plugin {
    /// Makes an engine without settings for a service of one method, has it work on no messages, and takes it apart.
    ///
    /// A library whose code is damaged ends the process then, so this is for a process of its own. What the library refuses is no fault: an
    /// engine may need settings.
    pub fn try_out(&self) {
        let _is_made = self.work_on_nothing();
    }

    fn work_on_nothing(&self) -> Option<()> {
        let (binding, settings) = (binding()?, || "".parse::<Settings>().ok());
        let mut engine = self.make(settings()?, &binding).ok()?;
        // After new settings an engine works also without messages.
        let _suit = engine.configure(settings()?);
        let mut burst = Burst::new();
        engine.requests(&mut burst, Duration::ZERO);
        engine.responses(&mut burst, Duration::ZERO);
        let mut parts = engine.take_apart();
        self.restore(&mut parts, &binding).ok().map(drop)
    }
}

/// Returns a service with a method `Do`.
fn binding() -> Option<Binding> {
    let message = text(4, &text(1, b"Nothing"));
    let types = [text(2, b".trial.Nothing"), text(3, b".trial.Nothing")].concat();
    let method = [text(1, b"Do"), types].concat();
    let service = text(6, &[text(1, b"Trial"), text(2, &method)].concat());
    let names = [text(1, b"trial.proto"), text(2, b"trial")].concat();
    let file = [names, message, service, text(12, b"proto3")].concat();
    let schema = Schema::read(&text(1, &file)).ok()?;
    let plan = Plan::new(&schema);
    Some(Binding {
        caller: "trial".into(),
        service: "trial".into(),
        counts: Arc::default(),
        traffic: Arc::default(),
        waker: Waker::noop().clone(),
        schema: Arc::new(schema),
        plan: Arc::new(plan),
    })
}

/// Returns a field of protobuf with a content of less than 128 bytes.
fn text(number: u8, content: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, content.len() as u8], content].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_service_of_a_trial_has_a_method() {
        assert_eq!(binding().unwrap().schema.methods()[0].name, "Do");
    }
}
