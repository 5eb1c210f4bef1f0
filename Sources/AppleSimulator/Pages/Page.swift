/// The frame of every page of the simulator: unmistakably not Apple.
enum Page {
    static func escape(_ text: String) -> String {
        var output = ""
        for character in text {
            switch character {
            case "&": output += "&amp;"
            case "<": output += "&lt;"
            case ">": output += "&gt;"
            case "\"": output += "&quot;"
            case "'": output += "&#39;"
            default: output.append(character)
            }
        }
        return output
    }

    static func hidden(_ name: String, _ value: String) -> String {
        "<input type=\"hidden\" name=\"\(escape(name))\" value=\"\(escape(value))\">"
    }

    /// The page for people; all its actions use the JSON interface.
    static var controls: String {
        let flaws = TokenQuirks.Flaw.allCases.map {
            "<button data-call=\"PUT tokens\" data-body='{\"wrong\":[\"\($0.rawValue)\"]}'>\($0.rawValue)</button>"
        }
        let body = String(decoding: PackageResources.control_html, as: UTF8.self)
        return shell(
            title: "Controls", body: body.replacing("{{flaws}}", with: flaws.joined(separator: "\n")),
            script: "control.js", isWide: true)
    }

    /// - Parameter body: HTML with all values already escaped.
    static func shell(title: String, body: String, script: String? = nil, isWide: Bool = false) -> String {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>\(escape(title)) · Simulated Apple</title>
        <link rel="stylesheet" href="/simulator/assets/simulator.css">
        <link rel="icon" href="data:,">
        \(script.map { "<script src=\"/simulator/assets/\($0)\" defer></script>" } ?? "")
        </head>
        <body\(isWide ? " class=\"wide\"" : "")>
        <header class="ribbon" role="note"><strong>Simulated Apple</strong> for development. Nothing you enter here \
        reaches Apple.</header>
        <main>
        \(body)
        </main>
        </body>
        </html>

        """
    }
}
