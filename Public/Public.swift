/// The files of `Public/`, embedded in the binary at build: templates, strings and assets by their path, such as
/// `templates/login.mustache`. An operator's directory may override them file by file.
package enum EmbeddedFiles {
    /// Path below `Public/` → content. Kept in step with the folder by a test.
    package static let all: [String: [UInt8]] = [
        "assets/account.js": PackageResources.account_js,
        "assets/bramley.css": PackageResources.bramley_css,
        "assets/icon.svg": PackageResources.icon_svg,
        "assets/login.js": PackageResources.login_js,
        "assets/operator.css": PackageResources.operator_css,
        "assets/operator.js": PackageResources.operator_js,
        "assets/popup.js": PackageResources.popup_js,
        "assets/repost.js": PackageResources.repost_js,
        "strings/ar.json": PackageResources.ar_json,
        "strings/de.json": PackageResources.de_json,
        "strings/en.json": PackageResources.en_json,
        "strings/es.json": PackageResources.es_json,
        "strings/fr.json": PackageResources.fr_json,
        "strings/ja.json": PackageResources.ja_json,
        "strings/ko.json": PackageResources.ko_json,
        "strings/zh-Hans.json": PackageResources.zh_Hans_json,
        "templates/account.mustache": PackageResources.account_mustache,
        "templates/account_delete.mustache": PackageResources.account_delete_mustache,
        "templates/account_deleted.mustache": PackageResources.account_deleted_mustache,
        "templates/apple_button.mustache": PackageResources.apple_button_mustache,
        "templates/apple_head.mustache": PackageResources.apple_head_mustache,
        "templates/connect.mustache": PackageResources.connect_mustache,
        "templates/consent.mustache": PackageResources.consent_mustache,
        "templates/device.mustache": PackageResources.device_mustache,
        "templates/existing.mustache": PackageResources.existing_mustache,
        "templates/layout.mustache": PackageResources.layout_mustache,
        "templates/login.mustache": PackageResources.login_mustache,
        "templates/logout.mustache": PackageResources.logout_mustache,
        "templates/message.mustache": PackageResources.message_mustache,
        "templates/notice.mustache": PackageResources.notice_mustache,
        "templates/operator.mustache": PackageResources.operator_mustache,
        "templates/operator_cell.mustache": PackageResources.operator_cell_mustache,
        "templates/repost.mustache": PackageResources.repost_mustache,
        "templates/standalone.mustache": PackageResources.standalone_mustache,
    ]

    /// The content of one file, nil when there is none of that path.
    package static func content(of path: String) -> [UInt8]? {
        all[path]
    }
}
