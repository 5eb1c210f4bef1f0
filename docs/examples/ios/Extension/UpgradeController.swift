import BramleyKit
import Foundation

/// The principal class of the extension, as Info.plist names it.
final class UpgradeController: UpgradeViewController {
    override func makeClient() -> UpgradeClient {
        UpgradeClient(
            application: URL(string: "https://www.example.com")!, server: URL(string: "https://id.example.com")!)
    }
}
