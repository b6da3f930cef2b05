//! Values that the OpenAPI document describes.

use serde_json::Value;

/// Every member of the value is described, and every required one is there.
pub(crate) fn check_described(document: &Value, schema: &Value, value: &Value, at: &str) {
    let schema = match schema["$ref"].as_str() {
        Some(reference) => document.pointer(reference.trim_start_matches('#')).unwrap(),
        None => schema,
    };
    let options = schema["oneOf"].as_array().into_iter().flatten();
    if let Some(option) = options.clone().find(|option| option["type"] != "null") {
        if !value.is_null() {
            check_described(document, option, value, at);
        }
        return;
    }
    match value {
        Value::Object(members) if schema["properties"].is_object() => {
            for (name, value) in members {
                let described = &schema["properties"][name];
                assert!(!described.is_null(), "{at}.{name} is not described");
                check_described(document, described, value, &format!("{at}.{name}"));
            }
            for name in schema["required"].as_array().into_iter().flatten() {
                let name = name.as_str().unwrap();
                assert!(members.contains_key(name), "{at}.{name} is required");
            }
        }
        Value::Object(members) => {
            for (name, value) in members {
                let described = &schema["additionalProperties"];
                check_described(document, described, value, &format!("{at}.{name}"));
            }
        }
        Value::Array(items) => {
            for value in items {
                check_described(document, &schema["items"], value, &format!("{at}[]"));
            }
        }
        _ => {}
    }
}
