//! A Chunnel that states that it encrypts. The tests need only the statement.

use bertha_core::{Buf, Carries, Chunnel, ConnectContext, Error, Identity};

/// Passes everything on.
#[derive(Debug, Clone, Identity)]
#[chunnel(guarantees(Encrypted))]
pub(crate) struct Veil;

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Veil {
    type Connection = Inner;

    async fn connect_wrap(&self, inner: Inner, _: ConnectContext<'_, Inner>) -> Result<Inner, Error> {
        Ok(inner)
    }
}
