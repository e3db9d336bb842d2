use super::Nothing;
use bertha_core::{Connection, Describe, Node, Wrap, make_stack};
use bertha_datapath_sim::pair_of;
use bertha_runtime::tokio::TokioRuntime;

#[tokio::test]
async fn messages_and_bursts_pass_unchanged() {
    let (here, there) = pair_of::<_, u32>(TokioRuntime);
    let here = make_stack!(Nothing, Nothing).wrap(here).await.unwrap();
    let there = Nothing.wrap(there).await.unwrap();

    here.send(7).await.unwrap();
    assert_eq!(there.recv().await.unwrap(), 7);

    there.send_batch([1, 2, 3].into_iter()).await.unwrap();
    let mut burst = Vec::new();
    assert_eq!(here.recv_batch(&mut burst, 2).await.unwrap(), 2);
    assert_eq!(burst, [1, 2]);

    here.close().await.unwrap();
    assert!(there.recv().await.is_err());
}

#[test]
fn the_other_end_need_not_have_it() {
    let [Node::Layer(layer)] = &Nothing.nodes()[..] else { panic!("one layer") };
    assert!(layer.is_one_sided());
    assert_eq!(layer.full_name(), "bertha-chunnels::Nothing");
}
