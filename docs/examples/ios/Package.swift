// swift-tools-version: 6.2
import PackageDescription

// The package of the repository's root is the same one on a Mac: apps add that by its address.
let package = Package(
    name: "BramleyKit",
    platforms: [.iOS(.v17), .macOS(.v14)],
    products: [.library(name: "BramleyKit", targets: ["BramleyKit"])],
    targets: [.target(name: "BramleyKit")]
)
