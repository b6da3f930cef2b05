//! JSON representations of values that JSON has no type for.

/// Bytes as `{"text": "…"}`, or as `{"base64": "…"}` if they are not UTF-8.
pub(super) mod bytes {
    use std::borrow::Cow;

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use bytes::Bytes;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Encoded<'a> {
        Text(Cow<'a, str>),
        Base64(Cow<'a, str>),
    }

    pub(crate) fn serialize<S: Serializer>(
        bytes: &Bytes,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let encoded = match std::str::from_utf8(bytes) {
            Ok(text) => Encoded::Text(text.into()),
            Err(_) => Encoded::Base64(STANDARD.encode(bytes).into()),
        };
        encoded.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Bytes, D::Error> {
        match Encoded::deserialize(deserializer)? {
            Encoded::Text(text) => Ok(text.into_owned().into()),
            Encoded::Base64(text) => {
                let bytes = STANDARD.decode(text.as_ref()).map_err(de::Error::custom)?;
                Ok(bytes.into())
            }
        }
    }
}
