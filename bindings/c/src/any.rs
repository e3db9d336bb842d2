//! Connections and listeners over any datapath, with any stack, as one type each.

use crate::failure::Failure;
use crate::figures::Figures;
use crate::options::Options;
use bertha::local::Registration;
use bertha::prelude::*;
use bertha::{Addr, Base, BoxedStack, Buf, Datapath, Destination, Error, Negotiated, Pick, Upgradable};
use bertha_named::{Counted, OverDatapath, Side, Stack};
use std::sync::Arc;

pub(crate) use bertha::core::BoxFuture;

/// Changes a connection to other alternatives of its stack.
type Change = Box<dyn Fn(Pick) -> BoxFuture<'static, Result<(), Error>> + Send + Sync>;

/// A connection of bytes over any datapath.
///
/// A call allocates its future, whose type differs by datapath and stack: C has one function for all of them.
pub(crate) trait AnyConnection: Send + Sync {
    fn buffer(&self, length: usize) -> Result<Buf, Error>;
    /// Returns the length of the longest message, in bytes.
    fn longest(&self) -> usize;
    fn send(self: Arc<Self>, message: Buf) -> BoxFuture<'static, Result<(), Error>>;
    fn send_burst(self: Arc<Self>, messages: Vec<Buf>) -> BoxFuture<'static, Result<(), Error>>;
    fn receive(&self) -> BoxFuture<'_, Result<Buf, Error>>;
    fn receive_burst<'a>(
        &'a self,
        into: &'a mut Vec<Buf>,
        most: usize,
    ) -> BoxFuture<'a, Result<usize, Error>>;
    fn drain(self: Arc<Self>) -> BoxFuture<'static, Result<(), Error>>;
    fn close(self: Arc<Self>) -> BoxFuture<'static, Result<(), Error>>;
    fn upgrade(&self, to: Pick) -> Option<BoxFuture<'static, Result<(), Error>>>;
    fn explain(&self) -> String;
    fn figures(&self) -> Figures;
    fn statistics(&self) -> String;
    fn peer_address(&self) -> Addr;
    fn local_address(&self) -> Addr;
    fn peer_identity(&self) -> Option<String>;
}

struct Known<C> {
    connection: Arc<Negotiated<C>>,
    /// Present if both ends may change the stack.
    change: Option<Change>,
}

impl<C: Connection<Data = Buf>> AnyConnection for Known<C> {
    fn buffer(&self, length: usize) -> Result<Buf, Error> {
        self.connection.base().buffer(length)
    }

    fn longest(&self) -> usize {
        self.connection.mtu().saturating_sub(self.connection.base().reserved())
    }

    fn send(self: Arc<Self>, message: Buf) -> BoxFuture<'static, Result<(), Error>> {
        Box::pin(async move { self.connection.send(message).await })
    }

    fn send_burst(self: Arc<Self>, messages: Vec<Buf>) -> BoxFuture<'static, Result<(), Error>> {
        Box::pin(async move { self.connection.send_batch(messages.into_iter()).await })
    }

    fn receive(&self) -> BoxFuture<'_, Result<Buf, Error>> {
        Box::pin(self.connection.recv())
    }

    fn receive_burst<'a>(
        &'a self,
        into: &'a mut Vec<Buf>,
        most: usize,
    ) -> BoxFuture<'a, Result<usize, Error>> {
        Box::pin(self.connection.recv_batch(into, most))
    }

    fn drain(self: Arc<Self>) -> BoxFuture<'static, Result<(), Error>> {
        Box::pin(async move { self.connection.drain().await })
    }

    fn close(self: Arc<Self>) -> BoxFuture<'static, Result<(), Error>> {
        Box::pin(async move { self.connection.close().await })
    }

    fn upgrade(&self, to: Pick) -> Option<BoxFuture<'static, Result<(), Error>>> {
        self.change.as_ref().map(|change| change(to))
    }

    fn explain(&self) -> String {
        self.connection.explain().to_string()
    }

    fn figures(&self) -> Figures {
        Figures { dropped: self.connection.dropped(), forged: self.connection.forged(), ..Figures::default() }
    }

    fn statistics(&self) -> String {
        self.connection.statistics().to_string()
    }

    fn peer_address(&self) -> Addr {
        self.connection.peer_addr()
    }

    fn local_address(&self) -> Addr {
        self.connection.local_addr()
    }

    fn peer_identity(&self) -> Option<String> {
        self.connection.peer_identity().map(|identity| identity.to_string())
    }
}

fn fixed<C: Connection<Data = Buf>>(connection: Negotiated<C>) -> Arc<dyn AnyConnection> {
    Arc::new(Known { connection: Arc::new(connection), change: None })
}

/// Returns a connection that `change` changes.
fn changing<C, F>(
    connection: Negotiated<C>,
    change: impl Fn(Arc<Negotiated<C>>, Pick) -> F + Send + Sync + 'static,
) -> Arc<dyn AnyConnection>
where
    C: Connection<Data = Buf>,
    F: Future<Output = Result<(), Error>> + Send + 'static,
{
    let connection = Arc::new(connection);
    let shared = connection.clone();
    let change: Change = Box::new(move |to| Box::pin(change(shared.clone(), to)));
    Arc::new(Known { connection, change: Some(change) })
}

/// The clients of a server over any datapath.
pub(crate) trait AnyIncoming: Send {
    /// Waits for the next client; `None` if the listener has failed.
    fn next(&mut self) -> BoxFuture<'_, Option<Arc<dyn AnyConnection>>>;
}

struct Fixed<D: Datapath>(bertha::Incoming<BoxedStack<D, Buf>, D>);

impl<D: Datapath> AnyIncoming for Fixed<D> {
    fn next(&mut self) -> BoxFuture<'_, Option<Arc<dyn AnyConnection>>> {
        Box::pin(async move { self.0.next().await.map(fixed) })
    }
}

struct Changing<D: Datapath>(bertha::Incoming<Upgradable<BoxedStack<D, Buf>>, D>);

impl<D: Datapath> AnyIncoming for Changing<D> {
    fn next(&mut self) -> BoxFuture<'_, Option<Arc<dyn AnyConnection>>> {
        Box::pin(async move {
            let client = self.0.next().await?;
            Some(changing(client, |client, to| async move { client.upgrade(to).await.map(drop) }))
        })
    }
}

/// Connects over any datapath.
pub(crate) struct Connecting {
    pub(crate) stack: Stack,
    pub(crate) to: Destination,
    /// The name of the server, for its certificate.
    pub(crate) host: String,
    pub(crate) options: Options,
}

impl OverDatapath for Connecting {
    type Output = Arc<dyn AnyConnection>;

    async fn over<D: Datapath + Clone + Counted>(self, datapath: D) -> Result<Self::Output, Error> {
        let Self { stack, to, host, options } = self;
        let stack = stack.build_on(&datapath, &options.keys, Side::Client { host: &host })?;
        if options.is_upgradable {
            let stack = stack.upgradable();
            let connection = stack.connect(datapath, to).settings(options.settings).await?;
            return Ok(changing(connection, |connection, to| async move {
                connection.upgrade(to).await.map(drop)
            }));
        }
        Ok(fixed(stack.connect(datapath, to).settings(options.settings).await?))
    }
}

/// Listens over any datapath.
pub(crate) struct Listening {
    pub(crate) stack: Stack,
    pub(crate) on: Destination,
    pub(crate) options: Options,
}

/// The address of a server, its clients, and its entry in the directory of the machine.
pub(crate) type Listened = (Addr, Box<dyn AnyIncoming>, Option<Registration>);

impl OverDatapath for Listening {
    type Output = Listened;

    async fn over<D: Datapath + Clone + Counted>(self, datapath: D) -> Result<Listened, Error> {
        let Self { stack: text, on, options } = self;
        let Options { keys, settings, is_upgradable } = options;
        let stack = text.build_on(&datapath, &keys, Side::Server)?;
        let (addr, incoming): (_, Box<dyn AnyIncoming>) = if is_upgradable {
            let incoming = stack.upgradable().listen(datapath, on).settings(settings).await?;
            (incoming.local_addr(), Box::new(Changing::<D>(incoming)))
        } else {
            let incoming = stack.listen(datapath, on).settings(settings).await?;
            (incoming.local_addr(), Box::new(Fixed::<D>(incoming)))
        };
        let name = format!("bertha-c-{}", std::process::id());
        let registration = keys.register(&text, &name, &addr).await;
        Ok((addr, incoming, registration))
    }
}

/// Returns the name of the host in an address, for certificates.
pub(crate) fn host_of(address: &str) -> &str {
    if address.starts_with("unix:") {
        return "localhost";
    }
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host.trim_start_matches('[').trim_end_matches(']')
}

/// Returns the failure of a message that is longer than the connection carries.
pub(crate) fn too_long(length: usize, longest: usize) -> Failure {
    let text = format!("a message of {length} bytes, where the connection carries {longest}");
    Failure::new(crate::code::Code::BERTHA_TOO_LARGE, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_of_the_host_without_its_port() {
        for (address, host) in
            [("example.org:80", "example.org"), ("[::1]:80", "::1"), ("unix:/a", "localhost"), ("a", "a")]
        {
            assert_eq!(host_of(address), host);
        }
    }
}
