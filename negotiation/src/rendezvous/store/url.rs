//! The URLs of stores.

use super::options::{Login, StoreOptions};
use bertha_core::{Error, ErrorKind};

/// A store's URL, `scheme://[user[:password]@]hosts[/path][?parameters]`, without the parts that belong to
/// the options.
pub(super) struct Url<'a> {
    pub(super) scheme: &'a str,
    pub(super) hosts: &'a str,
    /// The path, without the slash.
    pub(super) path: &'a str,
    pub(super) options: StoreOptions,
}

impl<'a> Url<'a> {
    /// Parses `url`, and reads the files that it names. Its login and files replace the login and files of `options`.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) with a text that repeats no secret, also for a file that is missing.
    pub(super) fn parse(url: &'a str, mut options: StoreOptions) -> Result<Self, Error> {
        let (scheme, rest) = url.split_once("://").ok_or_else(|| invalid("it has no scheme"))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (login, rest) = rest.rsplit_once('@').map_or((None, rest), |(login, rest)| (Some(login), rest));
        let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
        if let Some(login) = login {
            let (user, password) = login.split_once(':').unwrap_or((login, ""));
            options.login = Some(Login { user: decoded(user)?, password: decoded(password)? });
        }
        let mut chain = None;
        let mut key = None;
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, path) = parameter.split_once('=').unwrap_or((parameter, ""));
            let file = || read(name, &decoded(path)?);
            match name {
                "ca" => options.authorities = Some(file()?),
                "cert" => chain = Some(file()?),
                "key" => key = Some(file()?),
                "password_file" => {
                    let password =
                        String::from_utf8(file()?).map_err(|_| invalid("the password is no text"))?;
                    options.login.get_or_insert_default().password = password.trim_end().to_owned();
                }
                _ => {
                    let what = "it has a parameter other than `ca`, `cert`, `key` and `password_file`";
                    return Err(invalid(what));
                }
            }
        }
        match (chain, key) {
            (Some(chain), Some(key)) => options = options.showing(chain, key),
            (None, None) => {}
            _ => return Err(invalid("`cert` and `key` need each other")),
        }
        Ok(Self { scheme, hosts, path, options })
    }
}

fn invalid(what: &str) -> Error {
    Error::new(ErrorKind::Invalid, format!("that is no address of a store: {what}"))
}

fn read(name: &str, path: &str) -> Result<Vec<u8>, Error> {
    std::fs::read(path)
        .map_err(|error| Error::of_file(format_args!("cannot read `{name}` from {path}"), error))
}

/// Decodes `text`: `%41` becomes `A` (RFC 3986, 2.1).
fn decoded(text: &str) -> Result<String, Error> {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let code = part.get(..2).and_then(|code| u8::from_str_radix(code, 16).ok());
        bytes.push(code.ok_or_else(|| invalid("a % has to be followed by two hexadecimal digits"))?);
        bytes.extend(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).map_err(|_| invalid("it is no UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> Result<Url<'_>, Error> {
        Url::parse(url, StoreOptions::new().login("other", "other"))
    }

    #[test]
    fn a_url_is_taken_apart_and_overrides_options() {
        let url = parsed("rediss://a%40b:p%3a%25@[::1]:1/2").unwrap();
        assert_eq!((url.scheme, url.hosts, url.path), ("rediss", "[::1]:1", "2"));
        let login = url.options.login.unwrap();
        assert_eq!((&*login.user, &*login.password), ("a@b", "p:%"));
        let url = parsed("etcd://one:1,two:2").unwrap();
        assert_eq!((url.hosts, url.path, &*url.options.login.unwrap().user), ("one:1,two:2", "", "other"));
        let path = std::env::temp_dir().join(format!("bertha-url-{}", std::process::id()));
        std::fs::write(&path, "secret\n").unwrap();
        let text = format!("etcds://me@host:1?password_file={0}&ca={0}&cert={0}&key={0}", path.display());
        let options = parsed(&text).unwrap().options;
        std::fs::remove_file(&path).unwrap();
        assert_eq!(options.login.as_ref().unwrap().password, "secret");
        assert_eq!(options.authorities.as_deref(), Some(&b"secret\n"[..]));
        let shown = format!("{options:?}");
        assert!(shown.contains("\"me\"") && !shown.contains("secret"), "{shown}");
    }

    #[test]
    fn errors_repeat_no_secret() {
        let wrong = [
            "secret",
            "r://u:secret%1@h:1",
            "r://u:secret@h:1?x=secret",
            "r://u:secret@h:1?ca=/nowhere/at/all",
        ];
        for url in wrong {
            let error = parsed(url).map(drop).unwrap_err();
            assert!(!format!("{error:?}").contains("secret"), "{error:?}");
        }
        let error = parsed("r://h:1?cert=/dev/null").map(drop).unwrap_err();
        assert!(error.to_string().contains("`cert` and `key` need each other"), "{error}");
    }
}
