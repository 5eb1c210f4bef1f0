import FoundationEssentials

/// The folder of the configuration file, against which its relative paths are resolved.
struct ConfigurationFolder {
    /// Empty for the working directory, otherwise with a trailing slash.
    private let prefix: Substring

    /// - Parameter file: as it was named. Links are not followed: what belongs to a linked file is next to the link.
    init(of file: String) {
        prefix = file.lastIndex(of: "/").map { file[...$0] } ?? ""
    }

    func resolving(_ path: String) -> String {
        // An empty path is reported as a mistake elsewhere.
        path.isEmpty || path.hasPrefix("/") ? path : prefix + path
    }

    /// Converts a path relative to the working directory to one for the file.
    func relative(_ path: String) -> String {
        guard !prefix.isEmpty, !path.isEmpty, !path.hasPrefix("/") else { return path }
        let (file, folder) = (Self.absolute(path), Self.absolute(String(prefix)))
        let inner = folder.hasSuffix("/") ? folder : folder + "/"
        return file.hasPrefix(inner) ? String(file.dropFirst(inner.count)) : file
    }

    private static func absolute(_ path: String) -> String {
        let start = path.hasPrefix("/") ? "" : FileManager.default.currentDirectoryPath
        var parts: [Substring] = []
        for part in "\(start)/\(path)".split(separator: "/") where part != "." {
            if part == ".." { _ = parts.popLast() } else { parts.append(part) }
        }
        return "/" + parts.joined(separator: "/")
    }
}
