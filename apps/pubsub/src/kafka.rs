//! The addresses of Kafka, with the settings of its client.

use bertha_core::{Error, ErrorKind};
use bertha_queues::kafka::Kafka;

/// Connects to the brokers of `//host:port[,host:port...][?config=FILE]`. The file has librdkafka's settings,
/// such as settings for TLS and a login, in lines of `name=value`, as `kcat -F` reads them. Brokers in the
/// address have precedence over brokers in the file.
///
/// # Errors
/// [`Invalid`](ErrorKind::Invalid) for another parameter, a line that is no setting, and settings that the
/// client does not accept; [`Io`](ErrorKind::Io) for a file that can't be read; and errors of
/// [`Kafka::with_config`].
pub(crate) async fn connect(address: &str) -> Result<Kafka, Error> {
    let address = address.trim_start_matches('/');
    let (brokers, query) = address.split_once('?').unwrap_or((address, ""));
    let mut text = String::new();
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
        let Some(path) = parameter.strip_prefix("config=") else {
            let what = "the address of Kafka has a parameter other than `config=FILE`";
            return Err(Error::new(ErrorKind::Invalid, what));
        };
        let failed =
            |error| Error::new(ErrorKind::Io, format!("reading Kafka's settings from {path}")).because(error);
        text = std::fs::read_to_string(path).map_err(failed)?;
    }
    let mut settings = settings(&text)?;
    if !brokers.is_empty() {
        settings.retain(|(name, _)| !["bootstrap.servers", "metadata.broker.list"].contains(name));
    }
    Kafka::with_config(brokers, settings).await
}

/// Parses the settings in lines of `name=value`, without empty lines and lines that begin with `#`.
fn settings(text: &str) -> Result<Vec<(&str, &str)>, Error> {
    let mut settings = Vec::new();
    for (at, line) in text.lines().map(str::trim).enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some((name, value)) = line.split_once('=') else {
            // The line itself is left out, since it may contain a password.
            let what = format!("line {} of Kafka's settings is not `name=value`", at + 1);
            return Err(Error::new(ErrorKind::Invalid, what));
        };
        settings.push((name.trim_end(), value.trim_start()));
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests panic to fail")]

    use super::*;

    #[test]
    fn settings_stand_in_lines() {
        let text = "# how to log in\n\n security.protocol = SASL_SSL\r\nsasl.password=a=b#c \nclient.id=\n";
        let expected = [("security.protocol", "SASL_SSL"), ("sasl.password", "a=b#c"), ("client.id", "")];
        assert_eq!(settings(text).unwrap(), expected);
    }

    #[test]
    fn a_line_that_is_none_is_counted_and_not_repeated() {
        let error = settings("acks=all\n\nsecret").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        let text = format!("{error:?} {error}");
        assert!(text.contains("line 3") && !text.contains("secret"), "{text}");
    }

    #[tokio::test]
    async fn an_address_with_anything_else_is_refused() {
        for (address, kind, expected) in [
            ("//127.0.0.1:1?sasl.password=secret", ErrorKind::Invalid, "config=FILE"),
            ("//127.0.0.1:1?config=/nowhere/at/all", ErrorKind::Io, "/nowhere/at/all"),
        ] {
            let error = connect(address).await.unwrap_err();
            assert_eq!(error.kind(), kind, "{error:?}");
            let text = format!("{error:?} {error}");
            assert!(text.contains(expected) && !text.contains("secret"), "{text}");
        }
    }
}
