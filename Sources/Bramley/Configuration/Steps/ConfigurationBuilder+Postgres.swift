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
        let postgres = PostgresOptions(url: Secret(url), trust: storage.postgresTrust)
        if postgres.mayShowPassword {
            values.warn(
                given.key,
                given.subject + "does not require TLS: whoever answers in PostgreSQL's place gets the password in the "
                    + "clear.",
                "Add sslmode=verify-full, and sslrootcert=FILE with the authority that issued PostgreSQL's certificate."
            )
        }
        storage.postgres = postgres
    }
}
