//! Readings of a thermometer over UDP, with checksums, to servers with and without the client's pass.
#![forbid(unsafe_code)]

mod reading;
mod station;

use bertha::Error;
use bertha::chunnels::{Checksum, Serialize};
use bertha::prelude::*;
use bertha_pass_fuse_checksum::FuseChecksum;
use reading::Reading;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let stack = || make_stack!(Serialize::<Reading>::new(), Checksum::new());
    let client = optimize!(stack(), FuseChecksum);
    println!("written:   {}\noptimised: {}", stack().explain(), client.explain());

    let old_server = station::serve(stack(), bertha::datapath()).await?;
    let new_server = station::serve(optimize!(stack(), FuseChecksum), bertha::datapath()).await?;
    for (name, server) in [("a server without the pass", old_server), ("a server with it", new_server)] {
        let (highest, agreed) = reading::report(&client, bertha::datapath(), server, &READINGS).await?;
        println!("{name}: the highest is {} mK; {agreed}", highest.millikelvin);
    }
    Ok(())
}

const READINGS: [Reading; 3] = [reading(291_300), reading(294_750), reading(293_100)];

const fn reading(millikelvin: u32) -> Reading {
    Reading { sensor: 7, millikelvin }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bertha::ErrorKind;

    /// Returns the readings that a client with the first stack gets from a server with the second stack.
    macro_rules! highest {
        ($client:expr, $server:expr) => {{
            let server = station::serve($server, bertha::datapath()).await.unwrap();
            let answer = reading::report(&$client, bertha::datapath(), server, &READINGS).await;
            answer.unwrap().0
        }};
    }

    #[tokio::test]
    async fn ends_with_and_without_the_pass_understand_each_other() {
        let old = || make_stack!(Serialize::<Reading>::new(), Checksum::new());
        let new = || optimize!(old(), FuseChecksum);
        let expected = reading(294_750);
        assert_eq!(highest!(old(), old()), expected);
        assert_eq!(highest!(old(), new()), expected);
        assert_eq!(highest!(new(), old()), expected);
        assert_eq!(highest!(new(), new()), expected);
    }

    #[test]
    fn the_stack_says_what_became_of_it() {
        let stack = optimize!(make_stack!(Serialize::<Reading>::new(), Checksum::new()), FuseChecksum);
        assert_eq!(
            stack.explain().to_string(),
            "SerializeChecked(Serialize[postcard] / Checksum)\n  \
             FuseChecksum: Serialize[postcard] / Checksum became SerializeChecked(Serialize[postcard] / Checksum)"
        );
    }

    #[tokio::test]
    async fn a_server_without_checksums_is_refused() {
        let server = make_stack!(Serialize::<Reading>::new());
        let server = station::serve(server, bertha::datapath()).await.unwrap();
        let client = optimize!(make_stack!(Serialize::<Reading>::new(), Checksum::new()), FuseChecksum);
        let error = reading::report(&client, bertha::datapath(), server, &READINGS).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
    }
}
