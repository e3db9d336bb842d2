//! A call takes time: its method is asynchronous, or a stream.

#[bertha::service]
trait Greeter {
    fn greet(&self, name: String) -> String;
}

#[bertha::service]
trait Cache<K> {
    async fn get(&self, key: K) -> String;
}

#[bertha::service]
struct NoTrait;

fn main() {}
