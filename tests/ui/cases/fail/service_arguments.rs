//! A value that is sent to another process owns its data.

#[bertha::service]
trait Greeter {
    async fn greet(&self, name: &str) -> String;
}

#[bertha::service]
trait Counter {
    async fn count(&mut self) -> u64;
}

fn main() {}
