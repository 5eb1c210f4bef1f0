import Coding
import Crypto
import Storage

extension ConfigurationBuilder {
    func readPostgres(_ storage: inout Configuration.Storage) {
        guard let given = given("storage.postgres.urlFile", readSecret) else { return }
        let url = PastedText.value(given.text)
        if let fault = PostgresOptions.fault(in: url) {
            values.fail(
                given.key, given.subject + fault,
                "Write `postgresql://user@host/database`, or `host=… dbname=… user=…`. Better than in it, the password is in "
                    + "a file that `passfile` names.")
            return
        }
        storage.postgres = PostgresOptions(url: Secret(url), trust: storage.postgresTrust * 1_000)
    }
}
