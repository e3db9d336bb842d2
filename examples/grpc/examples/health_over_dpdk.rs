//! A gRPC server over DPDK: `health_over_dpdk 10.0.0.1:50051`, on the port that `BERTHA_DPDK_DEVICE` and the
//! other variables describe. Clients may come through a kernel, or over DPDK as
//! `bertha_example_grpc::channel` does.

use bertha::{Addr, Datapath};
// In an application, this type is `bertha::dpdk::Tcp`, with the feature `datapath-dpdk-tcp`.
use bertha_datapath_dpdk::Tcp;
use bertha_example_grpc::accepted;
use tonic::transport::Server;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let on: Addr = std::env::args().nth(1).unwrap_or("10.0.0.1:50051".into()).parse()?;
    let listener = Tcp::new().bytes().listen(on).await?;
    let (reporter, health) = tonic_health::server::health_reporter();
    reporter.set_service_status("example", tonic_health::ServingStatus::Serving).await;
    Server::builder().add_service(health).serve_with_incoming(accepted(listener)).await?;
    Ok(())
}
