//! Connections whose ends have agreed on their stack.

use super::{AnyConnection, Knowledge, Known};
use bertha::core::{BoxFuture, Statistics};
use bertha::{Agreement, Buf, Connection, Error, Negotiated, Pick};
use std::sync::Arc;

/// Changes a connection to other alternatives of its stack.
type Change<C> = Box<dyn Fn(Arc<C>, Pick) -> BoxFuture<'static, Result<(), Error>> + Send + Sync>;

/// The knowledge about a negotiated connection, with the way to change its stack if both ends may.
struct Agreed<C>(Option<Change<C>>);

impl<C: Connection<Data = Buf>> Knowledge<Negotiated<C>> for Agreed<Negotiated<C>> {
    fn upgrade(
        &self,
        connection: &Arc<Negotiated<C>>,
        to: Pick,
    ) -> Option<BoxFuture<'static, Result<(), Error>>> {
        self.0.as_ref().map(|change| change(connection.clone(), to))
    }

    fn explain(&self, connection: &Negotiated<C>) -> String {
        connection.explain().to_string()
    }

    fn chunnels(&self, connection: &Negotiated<C>) -> Vec<&'static str> {
        connection.explain().chunnels().collect()
    }

    fn dropped(&self, connection: &Negotiated<C>) -> u64 {
        connection.dropped()
    }

    fn forged(&self, connection: &Negotiated<C>) -> u64 {
        connection.forged()
    }

    fn agreement(&self, connection: &Negotiated<C>) -> Option<Arc<Agreement>> {
        Some(connection.explain())
    }

    fn observed(&self, connection: &Negotiated<C>) -> Statistics {
        connection.statistics()
    }
}

pub(super) fn fixed<C: Connection<Data = Buf>>(connection: Negotiated<C>) -> Arc<dyn AnyConnection> {
    Arc::new(Known::new(connection, Agreed(None)))
}

/// Returns a connection that `change` changes.
pub(super) fn changing<C, F>(
    connection: Negotiated<C>,
    change: impl Fn(Arc<Negotiated<C>>, Pick) -> F + Send + Sync + 'static,
) -> Arc<dyn AnyConnection>
where
    C: Connection<Data = Buf>,
    F: Future<Output = Result<(), Error>> + Send + 'static,
{
    let change: Change<Negotiated<C>> = Box::new(move |connection, to| Box::pin(change(connection, to)));
    Arc::new(Known::new(connection, Agreed(Some(change))))
}
