//! More honest clients at once than the server has places for.

use crate::child::Child;
use crate::strangers::be_served;
use bertha_chunnels::{Nothing, Tls, Trust};
use bertha_core::{Buf, Connection, Datapath, make_stack};
use bertha_datapath_kernel::Tcp;
use bertha_negotiation::{Negotiate, Runs};
use std::collections::BTreeMap;
use std::path::PathBuf;
use tokio::task::JoinSet;

/// The descriptors of the server.
const MANY: usize = 20_000;

/// A certificate for `store.example`, in files.
pub(crate) struct Certificate {
    certificate: String,
    folder: PathBuf,
}

impl Certificate {
    pub(crate) fn new() -> Self {
        let made = rcgen::generate_simple_self_signed(["store.example".to_owned()]).unwrap();
        let name = format!("bertha-crowds-{}-{:p}", std::process::id(), &raw const made);
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("certificate"), made.cert.pem()).unwrap();
        std::fs::write(folder.join("key"), made.signing_key.serialize_pem()).unwrap();
        Self { certificate: made.cert.pem(), folder }
    }

    pub(crate) fn client(&self) -> Tls {
        Tls::client("store.example", Trust::ca_pem(&self.certificate).unwrap()).unwrap()
    }

    pub(crate) fn start(&self, descriptors: usize) -> Child {
        let file = |name| self.folder.join(name).to_str().unwrap().to_owned();
        Child::start(descriptors, &["tls", &file("certificate"), &file("key")])
    }
}

impl Drop for Certificate {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// So many clients connect at once, and stay. What became of them.
async fn come<S>(child: &Child, stack: S, count: usize) -> BTreeMap<String, usize>
where
    S: Negotiate + Clone + 'static,
    Tcp: Runs<S, Out: Connection<Data = Buf>>,
{
    // Raises the limit of descriptors.
    let listener = Tcp::new().listen(([127, 0, 0, 1], 0).into()).await.unwrap();
    let server = child.addr;
    let mut clients = JoinSet::new();
    for _ in 0..count {
        let stack = stack.clone();
        clients.spawn(async move { be_served(&stack, server).await });
    }
    let (mut outcomes, mut kept) = (BTreeMap::new(), Vec::new());
    while let Some(outcome) = clients.join_next().await {
        let outcome = match outcome.unwrap() {
            Ok(connection) => {
                kept.push(connection);
                "served".to_owned()
            }
            Err(error) => error.to_string(),
        };
        *outcomes.entry(outcome).or_default() += 1;
    }
    drop(listener);
    outcomes
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_clients_at_once_are_served() {
    let mut child = Child::start(MANY, &["plain"]);
    let outcomes = come(&child, make_stack!(Nothing), 10_000).await;
    assert_eq!(outcomes.get("served"), Some(&10_000), "{outcomes:?}; {}", child.account());
}

#[tokio::test(flavor = "multi_thread")]
async fn two_thousand_clients_with_tls_at_once_are_served() {
    let certificate = Certificate::new();
    let mut child = certificate.start(MANY);
    for _ in 0..2 {
        let outcomes = come(&child, make_stack!(certificate.client()), 2000).await;
        assert_eq!(outcomes.get("served"), Some(&2000), "{outcomes:?}; {}", child.account());
    }
}
