use super::service::map;
use super::{ClientShard, Keyed, ServerShard};
use crate::Serialize;
use bertha_core::{Connection, ErrorKind, Wrap, make_stack, select};
use bertha_datapath_sim::pair_of;
use bertha_runtime::tokio::TokioRuntime;

impl Keyed for String {
    fn key(&self) -> &[u8] {
        self.as_bytes()
    }
}

#[tokio::test]
async fn both_ways_of_sharding_are_alternatives_in_one_stack() {
    let sharding = select!(ClientShard::new(map(2)), ServerShard::new(map(2)));
    let stack = make_stack!(sharding, Serialize::<String>::new());
    let (here, there) = pair_of(TokioRuntime);
    // No further connections can be opened beside a single connection from outside.
    let error = stack.wrap(here).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    drop(there);

    let sharding = select!(ClientShard::new(map(2)), ServerShard::new(map(2)); prefer 1);
    let stack = make_stack!(sharding, Serialize::<String>::new());
    let (here, there) = pair_of(TokioRuntime);
    let (here, there) =
        (stack.wrap(here).await.unwrap(), Serialize::<String>::new().wrap(there).await.unwrap());
    here.send("request".into()).await.unwrap();
    assert_eq!(there.recv().await.unwrap(), "request");
}
