//! Makes types of Rust of the service's schema.

fn main() -> Result<(), bertha_build::Error> {
    bertha_build::compile(&["proto/greeter.proto"], &["proto"])
}
