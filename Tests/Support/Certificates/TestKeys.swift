/// P-256 keys made for tests alone (`openssl ecparam -name prime256v1 -genkey | openssl pkcs8 -topk8 -nocrypt`).
package enum TestKeys {
    package static let first = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgsTGNKTqgCIHm+mf5
        ZMDK255HDwbKMtL1j3n9xXI4wiKhRANCAAQ5Ggt0ZlNsXbigJEPrL2jNIQuVU78a
        nOCRBIUglOLdyKO0Ps3QtqoNNwkr+iKg2mCxbab11+Rzc0/mhNRR0mbj
        -----END PRIVATE KEY-----

        """
    package static let second = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQggmOgOy+PSEYvZcxS
        tJTjqN/7KnaYBDShs/WQigCgpV+hRANCAARztzMfw5+Q6zipBMUoKRtr3PxAHsPj
        /orzUXV6CDcmEGN8ZkmTssLJqjS2MK/v+pTaMHLM7/PnywDQefuSz+TH
        -----END PRIVATE KEY-----

        """
}
