//! The stores in servers that require TLS, certificates and a login, used by users with only the rights that
//! the documentation names.
#![cfg(any(feature = "redis", feature = "etcd"))]

use bertha_conformance::stores as conformance;
use bertha_core::Error;
use bertha_core::ErrorKind::{Unauthenticated, Unreachable};
use bertha_negotiation::rendezvous::{Name, RendezvousStore};
use std::fmt::Debug;

/// An address of a server, taken apart.
struct Access {
    /// Scheme, user and server.
    front: String,
    /// The folder of certificates and keys.
    folder: String,
}

impl Access {
    fn to(variable: &str) -> Option<Self> {
        let url = bertha_tests::service(variable)?;
        let (front, parameters) = url.split_once('?').unwrap();
        let file = parameters.strip_prefix("ca=").unwrap().split('&').next().unwrap();
        Some(Self { front: front.into(), folder: file.strip_suffix("/ca.pem").unwrap().into() })
    }

    /// Returns the address with these files for the parameters.
    fn with(&self, files: [(&str, &str); 4]) -> String {
        let given = files.iter().filter(|(_, file)| !file.is_empty());
        let given: Vec<_> = given.map(|(name, file)| format!("{name}={}/{file}", self.folder)).collect();
        format!("{}?{}", self.front, given.join("&"))
    }

    fn url(&self) -> String {
        self.with(ALL)
    }

    fn logged_in_as(self, user: &str) -> Self {
        Self { front: self.front.replace("bertha@", &format!("{user}@")), ..self }
    }

    /// Returns the server's name and port.
    fn server(&self) -> &str {
        self.front.rsplit_once('@').unwrap().1
    }

    fn password(&self) -> String {
        std::fs::read_to_string(format!("{}/password", self.folder)).unwrap().trim().into()
    }
}

const ALL: [(&str, &str); 4] =
    [("ca", "ca.pem"), ("cert", "user.pem"), ("key", "user.key"), ("password_file", "password")];

/// Checks that the error of every wrong proof names the remedy, and contains no secret.
async fn says_what_is_wrong<S: RendezvousStore + Debug>(
    access: &Access,
    open: impl Fn(&str) -> Result<S, Error>,
) {
    let name = Name::new("secured").unwrap();
    open(&access.url()).unwrap().read(&name).await.unwrap();
    let [ca, cert, key, password] = ALL;
    let cases = [
        ("another authority", [("ca", "other.pem"), cert, key, password], "none of the trusted authorities"),
        ("the system's authorities", [("", ""), cert, key, password], "none of the trusted authorities"),
        ("no certificate", [ca, ("", ""), ("", ""), password], "(`cert` and `key`)"),
        (
            "a stranger's certificate",
            [ca, ("cert", "other.pem"), ("key", "other.key"), password],
            "(`cert` and `key`)",
        ),
        ("a wrong password", [ca, cert, key, ("password_file", "ca.pem")], "or the password is wrong"),
    ];
    for (case, files, expected) in cases {
        let error = open(&access.with(files)).unwrap().read(&name).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{case}: {error:?}");
        // etcd's client library reports a refused client certificate as an ended connection.
        let is_ended =
            error.kind() == Unreachable && error.to_string().contains("the connection to the cluster failed");
        assert!(error.kind() == Unauthenticated || is_ended, "{case}: {error:?}");
        assert!(!format!("{error:?}").contains(&access.password()), "{case}: {error:?}");
    }
    let shown = format!("{:?}", open(&access.url()).unwrap());
    assert!(!shown.contains(&access.password()) && !shown.contains("PRIVATE"), "{shown}");
}

fn is_forbidden<T: Debug>(result: Result<T, Error>) {
    let error = result.unwrap_err();
    assert!(error.to_string().contains("the user may not do this; give it the r"), "{error:?}");
    assert_eq!(error.kind(), Unauthenticated, "{error:?}");
}

async fn passes(server: &impl RendezvousStore) {
    let runtime = bertha_datapath_kernel::TokioRuntime;
    conformance::store(&conformance::StoreSite { store: server, runtime: &runtime }).await;
}

#[cfg(feature = "redis")]
mod redis {
    use super::*;
    use bertha_negotiation::rendezvous::{RedisStore, StoreOptions, Transaction};
    use std::time::Duration;

    #[tokio::test]
    async fn with_tls_and_least_rights_it_keeps_its_promises() {
        let Some(access) = Access::to("BERTHA_REDIS_TLS") else { return };
        // The user `inspect` may list names as well.
        passes(&RedisStore::new(&access.logged_in_as("inspect").url()).unwrap()).await;
    }

    #[tokio::test]
    async fn it_says_what_is_wrong() {
        let Some(access) = Access::to("BERTHA_REDIS_TLS") else { return };
        says_what_is_wrong(&access, RedisStore::new).await;
        let store = RedisStore::new(&access.url()).unwrap();
        is_forbidden(store.names(1).await);
    }

    #[tokio::test]
    async fn options_say_the_same_as_the_address() {
        let Some(access) = Access::to("BERTHA_REDIS_TLS") else { return };
        let file = |name: &str| std::fs::read(format!("{}/{name}", access.folder)).unwrap();
        let options = StoreOptions::new()
            .trusting(file("ca.pem"))
            .showing(file("user.pem"), file("user.key"))
            .login("bertha", access.password());
        let url = access.front.replace("bertha@", "");
        let store = RedisStore::with_options(&url, options.clone()).unwrap();
        store.read(&Name::new("secured").unwrap()).await.unwrap();
        let error = RedisStore::with_options(&url.replace("rediss", "redis"), options).unwrap_err();
        assert!(error.to_string().contains("has to begin with rediss://"), "{error}");
    }

    /// Returns the server's reply to a command of this user. All users have one password.
    fn replied(access: &Access, user: &str, command: &[&str]) -> String {
        let file = |name: &str| format!("{}/{name}", access.folder);
        let (host, port) = access.server().trim_end_matches('/').rsplit_once(':').unwrap();
        let output = std::process::Command::new("redis-cli")
            .args(["-h", host, "-p", port, "--tls", "--cacert", &file("ca.pem"), "--user", user])
            .args(["--cert", &file("user.pem"), "--key", &file("user.key"), "--no-auth-warning"])
            .args(command)
            .env("REDISCLI_AUTH", access.password())
            .output()
            .expect("redis-cli, which starts the server as well");
        String::from_utf8(output.stdout).unwrap()
    }

    #[tokio::test]
    async fn its_user_may_do_nothing_else() {
        let Some(access) = Access::to("BERTHA_REDIS_TLS") else { return };
        let own = ["hgetall", "bertha:rendezvous:{secured}"];
        let reply = replied(&access, "bertha", &own);
        assert!(!reply.contains("NOPERM"), "{reply}");
        for other in [
            &["hgetall", "bertha:rendezvous:secured"][..],
            &["hgetall", "bertha:secured"],
            &["hset", "other", "field", "value"],
            &["set", "bertha:rendezvous:{secured}", "value"],
            &["publish", "bertha:rendezvous:{secured}", "message"],
            &["eval", "return 1", "0"],
            &["keys", "*"],
            &["scan", "0"],
            &["config", "get", "dir"],
            &["acl", "list"],
            &["flushall"],
        ] {
            let reply = replied(&access, "bertha", other);
            assert!(reply.contains("NOPERM"), "{other:?}: {reply}");
        }
    }

    /// The script runs with the rights of the user.
    #[tokio::test]
    async fn a_user_without_one_of_the_rights_is_told() {
        let Some(access) = Access::to("BERTHA_REDIS_TLS") else { return };
        let store = RedisStore::new(&access.logged_in_as("limited").url()).unwrap();
        is_forbidden(store.read(&Name::new("secured").unwrap()).await);
    }

    #[tokio::test]
    async fn a_user_without_the_channels_is_told() {
        let Some(access) = Access::to("BERTHA_REDIS_TLS") else { return };
        let store = RedisStore::new(&access.logged_in_as("unheard").url()).unwrap();
        let write = Transaction::new().put_for("a", vec![1], Duration::from_secs(1));
        is_forbidden(store.transact(&Name::new("unheard").unwrap(), &write).await);
    }

    /// A server that was started anew does not know the script, and the user has the rights to send the
    /// script again.
    #[tokio::test]
    async fn a_server_that_forgot_the_script_is_told_it_again() {
        let Some(access) = Access::to("BERTHA_REDIS_TLS") else { return };
        let store = RedisStore::new(&access.url()).unwrap();
        assert_eq!(replied(&access, "admin", &["script", "flush"]).trim(), "OK");
        store.read(&Name::new("secured").unwrap()).await.unwrap();
    }

    #[tokio::test]
    async fn a_watch_that_is_dropped_leaves_no_subscription() {
        let Some(access) = Access::to("BERTHA_REDIS_TLS") else { return };
        let store = RedisStore::new(&access.url()).unwrap();
        let name = format!("watched-{}", std::process::id());
        let subscribers = || {
            let channel = format!("bertha:rendezvous:{{{name}}}:changes");
            let reply = replied(&access, "admin", &["pubsub", "numsub", &channel]);
            reply.lines().nth(1).unwrap().to_owned()
        };
        let watch = store.watch(&Name::new(&*name).unwrap()).await.unwrap();
        assert_eq!(subscribers(), "1");
        drop(watch);
        let gone = async {
            while subscribers() != "0" {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), gone).await.expect("no subscription");
    }
}

#[cfg(feature = "etcd")]
mod etcd {
    use super::*;
    use bertha_negotiation::names::etcd_client::{Certificate, Client, ConnectOptions, Identity, TlsOptions};
    use bertha_negotiation::rendezvous::EtcdStore;

    #[tokio::test]
    async fn with_tls_and_least_rights_it_keeps_its_promises() {
        let Some(access) = Access::to("BERTHA_ETCD_TLS") else { return };
        passes(&EtcdStore::new(&access.url()).unwrap()).await;
    }

    #[tokio::test]
    async fn it_says_what_is_wrong() {
        let Some(access) = Access::to("BERTHA_ETCD_TLS") else { return };
        says_what_is_wrong(&access, EtcdStore::new).await;
        let store = EtcdStore::new(&access.logged_in_as("limited").url()).unwrap();
        is_forbidden(store.read(&Name::new("secured").unwrap()).await);
    }

    #[tokio::test]
    async fn its_user_may_do_nothing_else() {
        let Some(access) = Access::to("BERTHA_ETCD_TLS") else { return };
        let file = |name: &str| std::fs::read(format!("{}/{name}", access.folder)).unwrap();
        let tls = TlsOptions::new()
            .ca_certificate(Certificate::from_pem(file("ca.pem")))
            .identity(Identity::from_pem(file("user.pem"), file("user.key")));
        let options = ConnectOptions::new().with_user("bertha", access.password()).with_tls(tls);
        let server = format!("https://{}", access.server());
        let mut client = Client::connect([server], Some(options)).await.unwrap();
        client.get("/bertha/rendezvous/secured", None).await.unwrap();
        for other in ["/bertha/rendezvous", "/bertha/rendezvous0", "/bertha/other", "other"] {
            let refused = [
                client.get(other, None).await.map(drop),
                client.put(other, "value", None).await.map(drop),
                client.delete(other, None).await.map(drop),
            ];
            for refused in refused {
                let error = refused.unwrap_err().to_string();
                assert!(error.contains("permission denied"), "{other}: {error}");
            }
        }
        let error = client.user_list().await.unwrap_err().to_string();
        assert!(error.contains("permission denied"), "{error}");
    }
}
