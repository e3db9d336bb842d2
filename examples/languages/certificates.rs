//! TLS, with certificates of both ends: a server tells its clients who they are.
//!
//! `certificates serve ADDRESS FOLDER` and `certificates ask ADDRESS FOLDER`. The folder has `server.pem`, `server.key`, `client.pem` and
//! `client.key`; each certificate is its own authority, and the server's is for `server.test`.

use crate::Outcome;
use bertha::chunnels::{Tls, TlsIdentity, Trust};
use bertha::kernel::Tcp;
use bertha::prelude::*;
use bertha::{Base, Error};
use std::path::Path;

fn identity(folder: &Path, name: &str) -> Result<TlsIdentity, Error> {
    let file = folder.join(name);
    TlsIdentity::from_pem_files(file.with_extension("pem"), file.with_extension("key"))
}

pub(crate) async fn serve(address: &str, folder: &str) -> Outcome {
    let folder = Path::new(folder);
    let clients = Trust::ca_file(folder.join("client.pem"))?;
    let tls = Tls::server(identity(folder, "server")?)?.require_clients(clients);
    let mut clients = make_stack!(tls).listen(Tcp::new(), address).await?;
    println!("{}", clients.local_addr());
    while let Some(client) = clients.next().await {
        bertha::spawn(async move {
            let name = client.peer_identity().map(|identity| identity.to_string()).unwrap_or_default();
            let mut message = client.base().buffer(name.len())?;
            message.copy_from_slice(name.as_bytes());
            client.send(message).await?;
            client.close().await
        });
    }
    Ok(())
}

pub(crate) async fn ask(address: &str, folder: &str) -> Outcome {
    let folder = Path::new(folder);
    let server = Trust::ca_file(folder.join("server.pem"))?;
    let tls = Tls::client("server.test", server)?.identity(identity(folder, "client")?);
    let connection = make_stack!(tls).connect(Tcp::new(), address).await?;
    println!("I am {}", String::from_utf8_lossy(&connection.recv().await?));
    let server = connection.peer_identity().map(|identity| identity.to_string()).unwrap_or_default();
    println!("it is {server}");
    connection.close().await?;
    Ok(())
}
