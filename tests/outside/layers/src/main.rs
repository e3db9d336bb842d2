//! Echoes through layers that do nothing, as a user's own program has them: in the default release profile, without a
//! setting of its own.
//!
//! `layers DEPTH ECHOES`, with a depth of 0 or 16. `bertha-bench overhead` counts the instructions.

use bertha_chunnels::Nothing;
use bertha_core::{Buf, Connection, Error, ErrorKind, Wrap, make_stack};
use bertha_datapath_sim::{Sim, pair};

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let (Some(Ok(depth)), Some(Ok(echoes))) = (arguments.next(), arguments.next()) else {
        return Err(Error::new(ErrorKind::Invalid, "usage: layers DEPTH ECHOES"));
    };
    let mut sim = Sim::new(1);
    let (here, there) = pair(sim.runtime());
    sim.run(async {
        match depth {
            0 => echo(make_stack!().wrap(here).await?, make_stack!().wrap(there).await?, echoes).await,
            16 => {
                let stack = make_stack!(
                    Nothing, Nothing, Nothing, Nothing, Nothing, Nothing, Nothing, Nothing, Nothing, Nothing,
                    Nothing, Nothing, Nothing, Nothing, Nothing, Nothing
                );
                echo(stack.wrap(here).await?, stack.wrap(there).await?, echoes).await
            }
            _ => Err(Error::new(ErrorKind::Invalid, "there are stacks of 0 and of 16 layers")),
        }
    })
}

/// Sends a message there and back `echoes` times.
async fn echo(
    here: impl Connection<Data = Buf>,
    there: impl Connection<Data = Buf>,
    echoes: u64,
) -> Result<(), Error> {
    let mut message = Buf::copy_of(&[7; 64], 64)?;
    for _ in 0..echoes {
        here.send(message).await?;
        there.send(there.recv().await?).await?;
        message = here.recv().await?;
    }
    Ok(())
}
