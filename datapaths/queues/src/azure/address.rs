//! The address of an account, and the signature that gives access to it.

use azure_core::http::Url;
use bertha_core::{Error, ErrorKind};

/// Returns the address of the account's queues, with its signature if it has one.
///
/// The variables of Azure's tools decide: `AZURE_STORAGE_CONNECTION_STRING`; or
/// `AZURE_STORAGE_QUEUE_ENDPOINT` or `AZURE_STORAGE_ACCOUNT`, with `AZURE_STORAGE_SAS_TOKEN`.
pub(crate) fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Url, Error> {
    if let Some(connection) = variable("AZURE_STORAGE_CONNECTION_STRING") {
        return from_connection_string(&connection);
    }
    let endpoint = variable("AZURE_STORAGE_QUEUE_ENDPOINT").or_else(|| {
        variable("AZURE_STORAGE_ACCOUNT").map(|account| format!("https://{account}.queue.core.windows.net"))
    });
    let Some(endpoint) = endpoint else {
        return Err(invalid(
            "no account is named; set AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_SAS_TOKEN".into(),
        ));
    };
    signed(&endpoint, variable("AZURE_STORAGE_SAS_TOKEN").as_deref())
}

/// Returns the address from the parts of a connection string: `QueueEndpoint`, or `AccountName` with
/// `DefaultEndpointsProtocol` and `EndpointSuffix`; and `SharedAccessSignature`.
fn from_connection_string(text: &str) -> Result<Url, Error> {
    let part = |name: &str| {
        text.split(';')
            .filter_map(|part| part.split_once('='))
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value)
    };
    let signature = part("SharedAccessSignature");
    if signature.is_none() && part("AccountKey").is_some() {
        return Err(invalid(
            "the connection string has an account key, with which the SDK does not sign; put a SharedAccessSignature into it, \
             made by `az storage account generate-sas --services q`"
                .into(),
        ));
    }
    let endpoint = match (part("QueueEndpoint"), part("AccountName")) {
        (Some(endpoint), _) => endpoint.to_owned(),
        (None, Some(account)) => format!(
            "{}://{account}.queue.{}",
            part("DefaultEndpointsProtocol").unwrap_or("https"),
            part("EndpointSuffix").unwrap_or("core.windows.net")
        ),
        (None, None) => {
            return Err(invalid("the connection string has neither QueueEndpoint nor AccountName".into()));
        }
    };
    signed(&endpoint, signature)
}

fn signed(endpoint: &str, signature: Option<&str>) -> Result<Url, Error> {
    let mut url = parse(endpoint)?;
    if let Some(signature) = signature {
        url.set_query(Some(signature.trim_start_matches('?')));
    }
    Ok(url)
}

/// Parses an address as the application wrote it.
pub(crate) fn parse(text: &str) -> Result<Url, Error> {
    match Url::parse(text) {
        Ok(url) if !url.cannot_be_a_base() && url.has_host() => Ok(url),
        // The text of the source would contain the signature.
        _ => Err(invalid(format!(
            "{:?} is no address of an account",
            text.split('?').next().unwrap_or_default()
        ))),
    }
}

/// Returns the address of a queue of the account.
pub(crate) fn queue(account: &Url, name: &str) -> Url {
    let mut url = account.clone();
    url.set_path(&format!("{}/{name}", account.path().trim_end_matches('/')));
    url
}

fn invalid(text: String) -> Error {
    Error::new(ErrorKind::Invalid, text).at("AzureQueue")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables<'a>(set: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        |name| set.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_string())
    }

    #[test]
    fn an_account_has_an_address() {
        let url = from_variables(variables(&[
            ("AZURE_STORAGE_ACCOUNT", "shop"),
            ("AZURE_STORAGE_SAS_TOKEN", "?sv=1&sig=a%2Bb"),
        ]));
        assert_eq!(url.unwrap().as_str(), "https://shop.queue.core.windows.net/?sv=1&sig=a%2Bb");
    }

    #[test]
    fn connection_strings_are_read() {
        let text = "QueueEndpoint=http://127.0.0.1:10001/shop;SharedAccessSignature=sv=1&sig=a%3D";
        let url = from_variables(variables(&[("AZURE_STORAGE_CONNECTION_STRING", text)])).unwrap();
        assert_eq!(url.as_str(), "http://127.0.0.1:10001/shop?sv=1&sig=a%3D");
        assert_eq!(queue(&url, "orders").as_str(), "http://127.0.0.1:10001/shop/orders?sv=1&sig=a%3D");
    }

    #[test]
    fn account_keys_are_refused_with_the_way_out() {
        let text = "AccountName=shop;AccountKey=c2VjcmV0";
        let error = from_variables(variables(&[("AZURE_STORAGE_CONNECTION_STRING", text)])).unwrap_err();
        assert!(
            error.to_string().contains("generate-sas") && !error.to_string().contains("c2VjcmV0"),
            "{error}"
        );
    }

    #[test]
    fn errors_do_not_show_signatures() {
        let error = parse("shop?sig=secret").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
