//! A value that is sent to another process owns its data.

#[bertha::service]
trait Greeter {
    async fn greet(&self, name: &str) -> String;
}

fn main() {}
