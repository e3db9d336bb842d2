//! A Chunnel of the server that panics.

use crate::strangers::{Agrees, be_served};
use bertha_chunnels::Nothing;
use bertha_core::{
    Buf, Carries, Chunnel, ConnectContext, Connection, Error, ErrorKind, Identity, Role, make_stack, select,
};
use bertha_datapath_kernel::Tcp;
use bertha_negotiation::Negotiate;

/// Panics at a server, at once or after the first message.
#[derive(Debug, Clone, Identity)]
struct Panics {
    at_once: bool,
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Panics {
    type Connection = Inner;

    async fn connect_wrap(&self, inner: Inner, context: ConnectContext<'_, Inner>) -> Result<Inner, Error> {
        if context.role() == Role::Server {
            if !self.at_once {
                inner.recv().await?;
            }
            panic!("as it shall");
        }
        Ok(inner)
    }
}

#[tokio::test]
async fn a_chunnel_that_panics_costs_one_client_and_not_the_server() {
    for at_once in [true, false] {
        let local = ([127, 0, 0, 1], 0);
        let stack = make_stack!(select!(Panics { at_once }, Nothing));
        let mut incoming = stack.listen(Tcp::new(), local).await.unwrap();
        let server = incoming.local_addr().ip("test").unwrap();
        let client = tokio::spawn(async move {
            let connection = make_stack!(Agrees::to(&Panics { at_once })).connect(Tcp::new(), server).await?;
            connection.send(Buf::copy_of(b"hello", 0)?).await?;
            connection.recv().await.map(drop)
        });
        let error = incoming.next_or_refusal().await.unwrap().map(drop).unwrap_err();
        assert!(error.kind() == ErrorKind::Io && error.context().contains("panicked"), "{error}");
        let told = client.await.unwrap().unwrap_err();
        assert!(told.to_string().contains("panicked"), "{told}");
        // Another client is served.
        let serving = tokio::spawn(async move { be_served(&make_stack!(Nothing), server).await.map(drop) });
        let connection = incoming.next().await.unwrap();
        let message = connection.recv().await.unwrap();
        connection.send(message).await.unwrap();
        serving.await.unwrap().unwrap();
    }
}
