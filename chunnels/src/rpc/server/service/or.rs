//! Several services on one connection.

use super::{Reply, Request, Service};
use crate::rpc::{Failure, Method};

/// A service that has the methods of two services: by [`Service::or`].
#[derive(Debug, Clone)]
pub struct Or<A, B> {
    first: A,
    second: B,
    /// The methods of both.
    methods: Vec<Method>,
}

impl<A: Service, B: Service> Or<A, B> {
    pub(super) fn new(first: A, second: B) -> Self {
        let mut methods = first.methods().to_vec();
        if methods.is_empty() {
            tracing::warn!("a service that lists no methods stands before another, and answers no call");
        }
        for method in second.methods() {
            match methods.iter().find(|earlier| earlier.id() == method.id()) {
                None => methods.push(*method),
                Some(earlier) => {
                    tracing::warn!(?earlier, hidden = ?method, "the first of two services answers for both");
                }
            }
        }
        Self { first, second, methods }
    }
}

/// A response of one of two services.
#[derive(Debug)]
pub enum OneOf<A, B> {
    First(A),
    Second(B),
}

impl<A: Service, B: Service> Service for Or<A, B> {
    type Response = OneOf<A::Response, B::Response>;

    async fn call(&self, request: Request<'_>) -> Result<Reply<'_, Self::Response>, Failure> {
        if self.first.methods().iter().any(|method| request.is(*method)) {
            Ok(self.first.call(request).await?.map(OneOf::First))
        } else {
            Ok(self.second.call(request).await?.map(OneOf::Second))
        }
    }

    fn encode(&self, response: &Self::Response, into: &mut [u8]) -> Result<Option<usize>, Failure> {
        match response {
            OneOf::First(response) => self.first.encode(response, into),
            OneOf::Second(response) => self.second.encode(response, into),
        }
    }

    fn limit(&self) -> usize {
        self.first.limit().max(self.second.limit())
    }

    fn limit_of(&self, response: &Self::Response) -> usize {
        match response {
            OneOf::First(response) => self.first.limit_of(response),
            OneOf::Second(response) => self.second.limit_of(response),
        }
    }

    fn methods(&self) -> &[Method] {
        &self.methods
    }
}
