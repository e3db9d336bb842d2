//! A Chunnel of one's own that has no identity.

use bertha_core::{Buf, Carries, Chunnel, Error, ConnectContext};

struct Count;

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Count {
    type Connection = Inner;

    async fn connect_wrap(&self, inner: Inner, _: ConnectContext<'_, Inner>) -> Result<Inner, Error> {
        Ok(inner)
    }
}

fn main() {}
