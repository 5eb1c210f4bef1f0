/// The page for people; everything on it goes through the JSON interface.
enum ControlPage {
    static func html() -> String {
        Page.shell(title: "Controls", body: "<h1>soon</h1>", script: "control.js", isWide: true)
    }
}
