//! Services whose types are known.

use crate::messages::memory::common::Common;
use bertha_managed::Binding;
use bertha_schemas::{MessageId, Method, Plan, Schema, Unsuitable};
use std::collections::HashSet;
use std::sync::Arc;
use std::task::Waker;

/// The schema of a service, with the messages of its methods.
#[derive(Debug)]
pub(crate) struct Typed {
    pub(crate) schema: Arc<Schema>,
    pub(crate) plan: Arc<Plan>,
    /// The descriptor set, as other daemons get it.
    pub(crate) descriptors: Vec<u8>,
    methods: Arc<[Messages]>,
    /// The full names of the services.
    services: Arc<HashSet<String>>,
    /// Number of bytes that the schema takes.
    bytes: usize,
}

/// Number of bytes of a part of a schema and of its plan, beside the text of its line.
const LINE: usize = 160;

/// The messages of a method.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Messages {
    pub(crate) request: MessageId,
    pub(crate) response: MessageId,
}

impl Typed {
    /// Reads a descriptor set.
    ///
    /// # Errors
    /// Fails with what is wrong with the schema.
    pub(crate) fn read(descriptors: Vec<u8>) -> Result<Self, Unsuitable> {
        Ok(Self::of(Schema::read(&descriptors)?, descriptors))
    }

    /// Returns what stands in the place of a schema that is not known yet, without methods.
    pub(crate) fn unknown() -> Self {
        Self::of(Schema::default(), Vec::new())
    }

    /// Makes the plan of a schema, which was read of these descriptors.
    pub(crate) fn of(schema: Schema, descriptors: Vec<u8>) -> Self {
        let plan = Plan::new(&schema);
        let services = schema.methods().iter().map(|method| method.service.clone()).collect();
        let messages = |method: &Method| {
            let (request, response) = (plan.message(&method.request)?, plan.message(&method.response)?);
            Some(Messages { request, response })
        };
        // The plan has each message that a method reaches.
        let methods = schema.methods().iter().filter_map(messages).collect();
        let bytes = descriptors.len() + schema.lines().iter().map(|line| line.len() + LINE).sum::<usize>();
        let (schema, plan, services) = (Arc::new(schema), Arc::new(plan), Arc::new(services));
        Self { schema, plan, descriptors, methods, services, bytes }
    }

    /// Returns the same with other descriptors of an equal schema, which other daemons get: a name or a type in them that no method reaches is
    /// their owner's matter.
    pub(crate) fn with_descriptors(&self, descriptors: Vec<u8>) -> Self {
        let Self { schema, plan, methods, services, .. } = self;
        let (schema, plan) = (Arc::clone(schema), Arc::clone(plan));
        let bytes = self.bytes - self.descriptors.len() + descriptors.len();
        let (methods, services) = (Arc::clone(methods), Arc::clone(services));
        Self { schema, plan, descriptors, methods, services, bytes }
    }

    /// Returns about the number of bytes that this takes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns what engines need of the calls of a caller.
    pub(crate) fn binding(&self, caller: &str, service: &str, common: &Common, waker: Waker) -> Binding {
        Binding {
            caller: caller.into(),
            service: service.into(),
            counts: Arc::clone(common.counts()),
            traffic: Arc::clone(common.traffic()),
            waker,
            schema: Arc::clone(&self.schema),
            plan: Arc::clone(&self.plan),
        }
    }

    /// Returns true if the schema has a service of this full name.
    pub(crate) fn has(&self, service: &str) -> bool {
        self.services.contains(service)
    }

    /// Returns the number of a method that takes and returns one message.
    pub(crate) fn number(&self, service: &str, name: &str) -> Option<u32> {
        let methods = self.schema.methods();
        let is_it = |method: &Method| method.service == service && method.name == name;
        let number = methods
            .iter()
            .position(|method| is_it(method) && !method.streams_requests && !method.streams_responses);
        u32::try_from(number?).ok()
    }

    /// Returns the messages of a method.
    pub(crate) fn method(&self, number: u32) -> Option<Messages> {
        self.methods.get(number as usize).copied()
    }
}
